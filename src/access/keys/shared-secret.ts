/** Port: a secret text shared by all processes of the service. Adapters live in store/. */
export interface SharedSecret {
  /** The location of the secret, in words for an operator. */
  readonly label: string
  /** Undefined before the first `change`. */
  load(): Promise<string | undefined>
  /**
   * Stores the result of `next` on the stored text, and returns the stored text afterwards. When another process was
   * faster, `next` is called again with the new text: of processes that start together the first stores a text, and all
   * return the same text.
   */
  change(next: (current: string | undefined) => Promise<string> | string): Promise<string>
}
