/** Port: the configuration file. The adapter lives in store/. */
export interface ConfigurationFile {
  /** The file name, for messages. */
  readonly name: string
  /** Rejects with the system's error. */
  read(): Promise<string>
  /**
   * Replaces `text` by `next` atomically and durably. Rejects with `FileChanged` when the file does not hold `text`, otherwise with the
   * system's error.
   */
  replace(text: string, next: string): Promise<void>
  /** Creates the file atomically and durably, readable by this user only. Rejects with the system's error, also when the file exists. */
  create(text: string): Promise<void>
  /** Stores a backup of `text`. `path` is relative to the data directory. */
  backUp(text: string): Promise<{ path: string; remove(): Promise<void> }>
  /** The backups of this file, newest first. `at` is the time of the backup in epoch milliseconds. */
  backups(): Promise<{ text: string; at: number }[]>
  /** Records in the data directory the text on which file and database last agreed. The next start reads the note. */
  saveNote(note: FileNote): Promise<void>
  loadNote(): Promise<FileNote | undefined>
  /** Calls `onChange` some time after every change of the file; spurious calls are possible. */
  watch(onChange: () => void): { close(): void }
}

export interface FileNote {
  /** An opaque identifier of the database. */
  database: string
  /** The number of the configuration. */
  n: number
  /** The identifier of the text. */
  id: string
}

/** Another program or user changed the file meanwhile. */
export class FileChanged extends Error {
  override readonly name = 'FileChanged'
}
