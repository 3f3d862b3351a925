"""Where another engine is not to be followed, each as narrow as its reason; README.md says more."""


def excludes(case, engine):
    """Why this engine's outputs say nothing about this case; None if they do."""
    return None


def excuses(case):
    """Why Linnet may refuse what another engine computes; None if it may not."""
    return None
