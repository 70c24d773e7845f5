import type { Acting } from '../audit/acts.ts'
import type { GateOverride } from './change/gate.ts'
import type { ConfigData } from './change/merge.ts'
import type { AgentConfig } from './schema.ts'
import type { SkillPins } from './skills/pins.ts'

/**
 * The origin of a configuration: first start, a caller's change (stored or in memory only), an edit of a file, changed files of skills, a
 * restored version, a later start.
 */
export type ChangeKind = 'seed' | 'put' | 'memory' | 'edit' | 'skills' | 'restore' | 'start'

/** A configuration that several processes share, in written form. */
export interface StoredConfiguration {
  /** Increases with each configuration. */
  readonly n: number
  readonly version: string
  readonly kind: ChangeKind
  /** The version with which `text` was stored: an earlier version if this configuration is in memory only. */
  readonly storedVersion: string
  /** The YAML text for the next start after all processes have stopped. */
  readonly text: string
  /** The data in use in place of `text`, if a change is in memory only. */
  readonly used?: ConfigData
  /** Absent: there were no skills. */
  readonly skills?: SkillPins
  /** Epoch milliseconds. */
  readonly at: number
}

export interface NewConfiguration extends Omit<StoredConfiguration, 'n'> {
  /** The text of the edited file, if different from `text`. */
  readonly file?: string
  /** Paths of the changed values. */
  readonly diff: readonly string[]
  /** The caller, or the person at the command line; absent for changes by a file. */
  readonly actor?: ConfigurationActor & Acting
  /** Whether the ledger has the change. */
  readonly isAudited: boolean
  /** Present where the gate has refused the change. */
  readonly override?: GateOverride
}

export interface ConfigurationActor {
  tenant: string
  /** Absent in versions of former releases. */
  issuer?: string
  sub: string
}

/** Also a change that switches the ledger on or off is recorded. */
export function isAudited({ audit }: Pick<AgentConfig, 'audit'>, diff: readonly string[]): boolean {
  return audit.enabled || diff.includes('audit.enabled')
}

/** A former configuration without content. */
export type PastConfiguration = Pick<NewConfiguration, 'version' | 'kind' | 'at' | 'diff'> & {
  readonly n: number
  /** The caller; absent for changes by a file or the command line. */
  readonly actor?: ConfigurationActor
}

/** Port: the configurations of a service of several processes. The newest is in use. The adapter lives in store/. */
export interface ConfigurationStore {
  /** 0 without any configuration. */
  newestNumber(): Promise<number>
  newest(): Promise<StoredConfiguration | undefined>
  /** Newest first, without configurations in memory only. */
  list(): Promise<PastConfiguration[]>
  /** At most `limit` configurations of every kind with a number below `before`, newest first. */
  page(limit: number, before?: number): Promise<PastConfiguration[]>
  find(version: string): Promise<StoredConfiguration | undefined>
  /** Adds a configuration after the number `after`. Returns false, and adds nothing, when another process was first. Keeps the last 100 texts. */
  add(next: NewConfiguration, after: number): Promise<boolean>
  /** The number of the last configuration with the text, or from a file with the text. Undefined for an unknown text. */
  seenAt(text: string): Promise<number | undefined>
  /** An opaque identifier of a text. */
  idOf(text: string): string
  /** The text with this id of configuration `n`, or of the file behind configuration `n`. Undefined when the text was deleted. */
  findText(n: number, id: string): Promise<string | undefined>
  /** The text of the last edit that was taken over from a file. */
  lastFromFile(): Promise<string | undefined>
}

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

/** The text of the file; undefined where there is no file. */
export async function readIfPresent(file: Pick<ConfigurationFile, 'read'>): Promise<string | undefined> {
  return file.read().catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}
