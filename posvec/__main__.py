"""``python -m posvec`` runs the same command as ``posvec``."""

from posvec.verifier.cli import main

if __name__ == "__main__":
    main()
