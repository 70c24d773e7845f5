/** Port: the file that the configuration stands in. The adapter lives in store/. */
export interface ConfigurationFile {
  /** Of the file, for messages. */
  readonly name: string
  /** Rejects with the system's error. */
  read(): Promise<string>
  /**
   * Puts a text in the place of another: whole, and durably, or not at all. Rejects with `FileChanged` where the other is not there any
   * more, and else with the system's error.
   */
  replace(text: string, next: string): Promise<void>
  /** Keeps a text beside the last ones; answers with its path in the data directory. */
  backUp(text: string): Promise<{ path: string; remove(): Promise<void> }>
  /** Calls back some time after every change of the file, and also without one. */
  watch(onChange: () => void): { close(): void }
}

/** Somebody has changed the file meanwhile. */
export class FileChanged extends Error {
  override readonly name = 'FileChanged'
}
