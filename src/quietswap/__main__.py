"""`python -m quietswap`, and the `quietswap` command."""


def main() -> None:
    """Run the command line."""
    from quietswap.cli import command

    command(prog_name="quietswap")


if __name__ == "__main__":
    main()
