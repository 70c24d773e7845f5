import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { AgentParts } from '../agent.ts'
import { changedPaths, type ConfigData } from '../change/merge.ts'
import { editState } from '../change/state.ts'
import { type ConfigurationFile, type FileNote, FileChanged, readIfPresent, type ConfigurationStore } from '../configuration-store.ts'
import { formatProblems } from '../parse.ts'
import { ConfigError } from '../problems.ts'
import type { AgentConfig } from '../schema.ts'
import { parseEdit } from '../change/change.ts'
import { readYaml } from '../yaml-source.ts'
import type { ReadyConfiguration } from './served-configuration.ts'
import type { LoadedConfiguration, LatestConfiguration } from './latest-configuration.ts'
import { fieldsOf } from '../../json/shape.ts'

/** The configuration file of one process. Edits go into the shared configuration, and changes of the shared configuration are written to the file. */
export interface SharedFile {
  /** Takes over a new edit, then writes the newest configuration. `take` gets the configuration of an edit. Never rejects. */
  sync(take: (ready: ReadyConfiguration) => void): Promise<void>
  /** The problems of an edit that is not in effect, a line each. */
  readonly faults: readonly string[]
  /** Resolves when no work is in progress. */
  idle(): Promise<void>
}

export interface SharedFileDependencies {
  file: ConfigurationFile
  store: Pick<ConfigurationStore, 'seenAt' | 'idOf' | 'findText' | 'lastFromFile'>
  latest: LatestConfiguration
  /** Creates an agent and waits for the tools. Throws `ConfigError`. */
  make(config: AgentConfig, version: string): Promise<AgentParts>
  /** Called after an edit was taken over. */
  onChange(version: string): void
  newVersion(): string
  now(): number
  log: Logger
}

/** The text on which the file and the shared configuration `n` last agreed. */
interface AgreedText {
  text: string
  n: number
}

/** The result of comparing the file with the newest configuration. */
type Comparison =
  /** The file has no new edit; the text of `newest` should be written. */
  | { kind: 'settled'; newest: LoadedConfiguration }
  /** The file has an edit that is not in effect. */
  | { kind: 'refused' }
  /** The file changed meanwhile: compare again. */
  | { kind: 'changed' }

/** The result of taking over an edit of the file. */
type TakeOver =
  | { kind: 'taken'; ready: ReadyConfiguration }
  | { kind: 'refused' }
  /** Another process stored a configuration first. */
  | { kind: 'outdated' }

const settleMs = 300

export function createSharedFile(deps: SharedFileDependencies): SharedFile {
  const { file, store, latest, log } = deps
  /** Undefined before the first comparison and without a file. */
  let base: AgreedText | undefined
  /** The note of an earlier process in this data directory. */
  let note: FileNote | undefined
  let isFirst = true
  /** A faulty text with the problems. */
  let refused: { text: string; faults: readonly string[] } | undefined
  /** The number of the last configuration that could not be written; 0 without a failure. */
  let unwritten = 0
  let queue: Promise<void> = Promise.resolve()

  async function sync(take: (ready: ReadyConfiguration) => void): Promise<void> {
    if (isFirst) note = await loadNote()
    isFirst = false
    for (;;) {
      const text = await readIfPresent(file)
      const comparison = await compare(text, take)
      if (comparison.kind === 'changed') continue
      if (comparison.kind === 'settled') await write(comparison.newest, text)
      return
    }
  }

  async function loadNote(): Promise<FileNote | undefined> {
    const savedNote = await file.loadNote()
    // A note about another database is ignored.
    return savedNote?.database === store.idOf('') ? savedNote : undefined
  }

  async function compare(text: string | undefined, take: (ready: ReadyConfiguration) => void): Promise<Comparison> {
    for (;;) {
      const newest = await latest.read()
      if (text === undefined || text === base?.text) return { kind: 'settled', newest }
      if (text === newest.stored.text) return agree(text, newest.n, newest)
      const seenAt = await store.seenAt(text)
      if (seenAt !== undefined && !isGoneBackTo(text, seenAt)) return agree(text, seenAt, newest)
      if (text === refused?.text) return { kind: 'refused' }
      if (seenAt !== undefined && !(await isStill(text))) return { kind: 'changed' }
      const takeover = await takeOver(newest, text)
      if (takeover.kind === 'refused') return { kind: 'refused' }
      if (takeover.kind === 'outdated') continue
      const { ready } = takeover
      take(ready)
      deps.onChange(ready.configuration.version)
      return agree(text, ready.configuration.n, ready.configuration)
    }
  }

  /** True if a former text is an edit again: only when the file held a later text before. */
  function isGoneBackTo(text: string, seenAt: number): boolean {
    if (base) return seenAt <= base.n
    return note !== undefined && note.id !== store.idOf(text) && seenAt <= note.n
  }

  /** Resolves to true if the text is stable: another process with the same file may have written an outdated text and may write again soon. */
  async function isStill(text: string): Promise<boolean> {
    await sleep(settleMs)
    return (await readIfPresent(file)) === text
  }

  async function agree(text: string, n: number, newest: LoadedConfiguration): Promise<Comparison> {
    base = { text, n }
    refused = undefined
    await file.saveNote({ database: store.idOf(''), n, id: store.idOf(text) }).catch((err: unknown) => {
      log.debug({ err }, 'The text of the configuration file could not be recorded')
    })
    return { kind: 'settled', newest }
  }

  async function takeOver(newest: LoadedConfiguration, text: string): Promise<TakeOver> {
    try {
      const ready = await addEdit(newest, { text, dataBefore: await dataBefore(newest) }, deps)
      return ready ? { kind: 'taken', ready } : { kind: 'outdated' }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      refused = { text, faults: formatProblems(file.name, error) }
      log.error({ problems: refused.faults }, `${file.name} was edited, but cannot be used; the configuration is unchanged`)
      return { kind: 'refused' }
    }
  }

  /** The content that the editor of the file started from. */
  async function dataBefore(newest: LoadedConfiguration): Promise<ConfigData> {
    const noted = note && (await store.findText(note.n, note.id))
    const text = base?.text ?? noted ?? (await store.lastFromFile())
    return text === undefined ? newest.stored.data : toData(text)
  }

  /** Writes the text to the file, unless the file changed meanwhile. The store stays authoritative when the file cannot be written. */
  async function write(configuration: LoadedConfiguration, text: string | undefined): Promise<void> {
    const next = configuration.stored.text
    if (text === next || unwritten === configuration.n) return
    try {
      if (text === undefined) await file.create(next)
      else await file.replace(text, next)
      unwritten = 0
      await agree(next, configuration.n, configuration)
      const newest = await latest.read()
      if (newest.n > configuration.n) await write(newest, next)
    } catch (error) {
      if (error instanceof FileChanged || error instanceof ConfigError) return
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      if (unwritten === 0) log.info({ code }, `${file.name} cannot be written; the configuration is stored in the database only`)
      unwritten = configuration.n
    }
  }

  let loggedError: string | undefined
  function logFailure(error: unknown): void {
    if (String(error) === loggedError) return
    loggedError = String(error)
    log.warn({ err: error }, `${file.name} could not be compared with the configuration in the database`)
  }

  return {
    sync(take) {
      const done = queue.then(() => sync(take)).then(() => void (loggedError = undefined), logFailure)
      queue = done
      return done
    },
    get faults() {
      return refused?.faults ?? []
    },
    idle: () => queue,
  }
}

/** The data of a former text, which need not be valid for this program any more. */
function toData(text: string): ConfigData {
  return fieldsOf(readYaml(text).value)
}

/** Stores an edit of the file as the newest configuration. Undefined where another process stored one first. Throws `ConfigError`. */
async function addEdit(
  newest: LoadedConfiguration,
  { text, dataBefore }: { text: string; dataBefore: ConfigData },
  { file, latest, make, newVersion, now, log }: SharedFileDependencies,
): Promise<ReadyConfiguration | undefined> {
  const next = editState(newest, dataBefore, parseEdit(text))
  const diff = changedPaths(newest.used.config, next.used.config)
  const version = newVersion()
  const parts = await make(next.used.config, version)
  const change = { ...next, version, kind: 'edit', at: now(), file: text, diff } as const
  const configuration = await latest.add(change, newest).catch(async (error: unknown) => {
    await parts.tools.close()
    throw error
  })
  if (!configuration) {
    await parts.tools.close()
    return undefined
  }
  log.info({ version, diff }, `${file.name} was edited; the configuration was changed`)
  return { configuration, parts }
}
