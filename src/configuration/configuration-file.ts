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
  /** Makes the file, whole and durably, for this user alone. Rejects where there is one, and with the system's error. */
  create(text: string): Promise<void>
  /** Keeps a text beside the last ones; answers with its path in the data directory. */
  backUp(text: string): Promise<{ path: string; remove(): Promise<void> }>
  /** The copies of this file, newest first, each with the time (epoch milliseconds) at which it was made. */
  backups(): Promise<{ text: string; at: number }[]>
  /** Keeps in the data directory what the file held when it was last in line with a database, for the next start. */
  saveNote(note: FileNote): Promise<void>
  loadNote(): Promise<FileNote | undefined>
  /** Calls back some time after every change of the file, and also without one. */
  watch(onChange: () => void): { close(): void }
}

export interface FileNote {
  /** Names the database without telling anything of it. */
  database: string
  /** Of the configuration. */
  n: number
  /** Names the text. */
  id: string
}

/** Somebody has changed the file meanwhile. */
export class FileChanged extends Error {
  override readonly name = 'FileChanged'
}
