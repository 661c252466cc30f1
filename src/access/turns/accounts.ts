/** The running requests and the used time of a project or caller. */
export interface Account {
  readonly name: string;
  running: number;
  /** Milliseconds of ended turns, starting from the used time of the account that was served last. */
  used: number;
  /** Increases with each turn. */
  served: number;
}

/** Accounts by name, kept while they have running or waiting requests. */
export class Accounts<Kept extends Account> {
  readonly #accounts = new Map<string, Kept>();
  #served = 0;
  /** The used time of the account that was served last. */
  #level = 0;

  constructor(private readonly create: (account: Account) => Kept) {}

  /** The account of this name, which is created if need be. */
  open(name: string): Kept {
    let account = this.#accounts.get(name);
    if (account === undefined) {
      account = this.create({ name, running: 0, used: this.#level, served: 0 });
      this.#accounts.set(name, account);
    }
    return account;
  }

  close({ name }: Kept): void {
    this.#accounts.delete(name);
  }

  all(): readonly Kept[] {
    return [...this.#accounts.values()];
  }

  /** The waiting accounts, in the order in which they come next. */
  inOrder(waits: (account: Kept) => boolean): readonly Kept[] {
    return this.all()
      .filter(waits)
      .sort((one, other) => one.running - other.running || one.used - other.used || one.served - other.served);
  }

  /** Counts a turn that begins. */
  serve(account: Kept): void {
    account.running += 1;
    account.served = this.#served += 1;
    this.#level = Math.max(this.#level, account.used);
  }
}
