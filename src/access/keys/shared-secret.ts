/** Port: one text that all processes of the service have in common. Adapters live in store/. */
export interface SharedSecret {
  /** Where it is, in words for an operator. */
  readonly label: string
  /** Undefined where nothing is kept yet. */
  load(): Promise<string | undefined>
  /**
   * Keeps what `next` makes of what is kept, and answers with what is kept then. Where another process was first, `next` is asked again
   * with what that one left: of processes that start together one is the first, and all have its text.
   */
  change(next: (kept: string | undefined) => Promise<string> | string): Promise<string>
}
