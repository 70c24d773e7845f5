import type { ConfigData } from './change/merge.ts'

/** How a configuration came about: the first one, a caller's change (stored, or in memory alone), an edit of a file, a former one again, a start. */
export type ChangeKind = 'seed' | 'put' | 'memory' | 'edit' | 'restore' | 'start'

/** A configuration that several processes have in common, as it is written. */
export interface StoredConfiguration {
  /** Grows with each. */
  readonly n: number
  readonly version: string
  readonly kind: ChangeKind
  /** Of the configuration with which the text was stored: itself, or an earlier one where this one is in memory alone. */
  readonly storedVersion: string
  /** The YAML that counts when all processes have stopped. */
  readonly text: string
  /** What is in use instead, where something was changed in memory alone. */
  readonly used?: ConfigData
  /** Epoch milliseconds. */
  readonly at: number
}

export interface NewConfiguration extends Omit<StoredConfiguration, 'n'> {
  /** The text of the file that it was taken from, where it is another. */
  readonly file?: string
  /** Paths of what changed. */
  readonly diff: readonly string[]
  readonly actor?: { tenant: string; sub: string }
}

/** One of the past, without its content. */
export type PastConfiguration = Omit<NewConfiguration, 'text' | 'used' | 'file' | 'storedVersion'> & { readonly n: number }

/** Port: the configurations of a service that several processes run; the newest is in use. The adapter lives in store/. */
export interface ConfigurationStore {
  /** 0 where there is none. */
  newestNumber(): Promise<number>
  newest(): Promise<StoredConfiguration | undefined>
  /** Newest first; without those that were in memory alone. */
  list(): Promise<PastConfiguration[]>
  find(version: string): Promise<StoredConfiguration | undefined>
  /** Adds one behind the number `after`. False where another has come first; then nothing is changed. The last 50 texts are kept. */
  add(next: NewConfiguration, after: number): Promise<boolean>
  /** The number of the last configuration that had this text, or came from a file with it; undefined: never seen. */
  seenAt(text: string): Promise<number | undefined>
  /** Names a text without telling anything of it. */
  idOf(text: string): string
  /** The text with this id that the configuration of this number had or came from, where it is still kept. */
  findText(n: number, id: string): Promise<string | undefined>
  /** What was taken over from a file last. */
  lastFromFile(): Promise<string | undefined>
}
