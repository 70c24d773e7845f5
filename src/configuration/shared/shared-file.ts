import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { AgentParts } from '../agent.ts'
import { changedPaths } from '../change/diff.ts'
import { isConfigData, type ConfigData } from '../change/merge.ts'
import { editState } from '../change/state.ts'
import type { ConfigurationFile, FileNote } from '../configuration-file.ts'
import { FileChanged } from '../configuration-file.ts'
import type { ConfigurationStore } from '../configuration-store.ts'
import { formatProblems } from '../load.ts'
import { ConfigError } from '../problems.ts'
import type { AgentConfig } from '../schema.ts'
import { parseEdit } from '../source.ts'
import { readYaml } from '../yaml-source.ts'
import type { ReadyConfiguration } from './served-configuration.ts'
import type { LoadedConfiguration, LatestConfiguration } from './latest-configuration.ts'

/** The file of one process: its edits go into the configuration of all, and it is written where that changes. */
export interface SharedFile {
  /** Takes over an edit that nobody has seen, then writes what counts. `take` gets what came of an edit. Never rejects. */
  look(take: (ready: ReadyConfiguration) => void): Promise<void>
  /** What is in the file and not in effect, a line each. */
  readonly faults: readonly string[]
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

export interface SharedFileDependencies {
  file: ConfigurationFile
  store: Pick<ConfigurationStore, 'seenAt' | 'idOf' | 'findText' | 'lastFromFile'>
  latest: LatestConfiguration
  /** Waits until its tools are there. Throws `ConfigError`. */
  make(config: AgentConfig, version: string): Promise<AgentParts>
  /** After an edit was taken over. */
  onChange(version: string): void
  newVersion(): string
  now(): number
  log: Logger
}

/** What the file held when it was last in line with the configuration of all, and which one that was. */
interface Base {
  text: string
  n: number
}

/** What a comparison of the file with the newest configuration found. */
type Comparison =
  /** The file is in line with the configurations; it should hold the text of `newest`. */
  | { kind: 'settled'; newest: LoadedConfiguration }
  /** The file holds an edit that is not in effect. */
  | { kind: 'refused' }
  /** The file changed meanwhile: compare again. */
  | { kind: 'changed' }

/** What became of an edit of the file. */
type TakeOver =
  | { kind: 'taken'; ready: ReadyConfiguration }
  | { kind: 'refused' }
  /** Another process stored a configuration first. */
  | { kind: 'outdated' }

const settleMs = 300

export function createSharedFile(deps: SharedFileDependencies): SharedFile {
  const { file, store, latest, log } = deps
  /** Undefined: not known yet, or there is no file. */
  let base: Base | undefined
  /** Of an earlier process in this data directory, until the file was looked at. */
  let note: FileNote | undefined
  let isFirst = true
  /** A text that was found faulty, and what is wrong with it. */
  let refused: { text: string; faults: readonly string[] } | undefined
  /** The last configuration that could not be written. */
  let unwritten = 0
  let queue: Promise<void> = Promise.resolve()

  async function look(take: (ready: ReadyConfiguration) => void): Promise<void> {
    if (isFirst) note = await loadNote()
    isFirst = false
    for (;;) {
      const text = await read()
      const comparison = await compare(text, take)
      if (comparison.kind === 'changed') continue
      if (comparison.kind === 'settled') await write(comparison.newest, text)
      return
    }
  }

  async function loadNote(): Promise<FileNote | undefined> {
    const found = await file.loadNote()
    // Of another database it tells nothing.
    return found?.database === store.idOf('') ? found : undefined
  }

  /** Undefined where there is no file; another fault throws. */
  async function read(): Promise<string | undefined> {
    return file.read().catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
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

  /** A text that was seen before is none that somebody wrote now, unless the file held a later one. */
  function isGoneBackTo(text: string, seenAt: number): boolean {
    if (base) return seenAt <= base.n
    return note !== undefined && note.id !== store.idOf(text) && seenAt <= note.n
  }

  /** Another process that shares the file may have written late what was newest a moment ago, and be about to write again. */
  async function isStill(text: string): Promise<boolean> {
    await sleep(settleMs)
    return (await read()) === text
  }

  async function agree(text: string, n: number, newest: LoadedConfiguration): Promise<Comparison> {
    base = { text, n }
    refused = undefined
    await file.saveNote({ database: store.idOf(''), n, id: store.idOf(text) }).catch((err: unknown) => {
      log.debug({ err }, 'What the file holds could not be noted')
    })
    return { kind: 'settled', newest }
  }

  async function takeOver(newest: LoadedConfiguration, text: string): Promise<TakeOver> {
    try {
      const next = editState(newest, await dataBefore(newest), parseEdit(text))
      const diff = changedPaths(newest.used.config, next.used.config)
      const version = deps.newVersion()
      const parts = await deps.make(next.used.config, version)
      const configuration = await latest
        .add({ ...next, version, kind: 'edit', at: deps.now(), file: text, diff }, newest)
        .catch(async (error: unknown) => {
          await parts.tools.close()
          throw error
        })
      if (configuration) {
        log.info({ version, diff }, `${file.name} was edited; the configuration was changed`)
        return { kind: 'taken', ready: { configuration, parts } }
      }
      await parts.tools.close()
      return { kind: 'outdated' }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      refused = { text, faults: formatProblems(file.name, error) }
      log.error({ problems: refused.faults }, `${file.name} was edited, but can not be used; the configuration stays as it is`)
      return { kind: 'refused' }
    }
  }

  /** What the editor had before them. */
  async function dataBefore(newest: LoadedConfiguration): Promise<ConfigData> {
    const noted = note && (await store.findText(note.n, note.id))
    const text = base?.text ?? noted ?? (await store.lastFromFile())
    return text === undefined ? newest.stored.data : toData(text)
  }

  /** Where nobody else has changed it, the file is what counts; where it can't be written, the store has it. */
  async function write(known: LoadedConfiguration, text: string | undefined): Promise<void> {
    const next = known.stored.text
    if (text === next || unwritten === known.n) return
    try {
      if (text === undefined) await file.create(next)
      else await file.replace(text, next)
      unwritten = 0
      await agree(next, known.n, known)
      const newest = await latest.read()
      if (newest.n > known.n) await write(newest, next)
    } catch (error) {
      if (error instanceof FileChanged || error instanceof ConfigError) return
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      if (unwritten === 0) log.info({ code }, `${file.name} can not be written; the configuration is in the database alone`)
      unwritten = known.n
    }
  }

  let told: string | undefined
  function tell(error: unknown): void {
    if (String(error) === told) return
    told = String(error)
    log.warn({ err: error }, `${file.name} could not be compared with the configuration in the database`)
  }

  return {
    look(take) {
      const done = queue.then(() => look(take)).then(() => void (told = undefined), tell)
      queue = done
      return done
    },
    get faults() {
      return refused?.faults ?? []
    },
    idle: () => queue,
  }
}

/** Of a text that was a configuration once; a later program may read it no more. */
function toData(text: string): ConfigData {
  const { value } = readYaml(text)
  return isConfigData(value) ? value : {}
}
