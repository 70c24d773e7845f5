import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { mediaTypeOf } from '../../artifacts/media-type.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { fitAnswer, shorten, toFailureText, type Answer } from './answer.ts'
import { createGivenFiles } from './given-files.ts'
import { InterpreterLost } from './interpreter.ts'
import type { RunFile } from './memory-files.ts'
import { readTold } from './check-report.ts'
import type { Ran, Told } from './messages.ts'
import { createRooms, type Found, type Room, type RoomsOptions } from './rooms.ts'
import { createStarter } from './starter.ts'
import { messageOf } from '../../errors.ts'

const description = `Runs Python 3.14 code and returns the value of its last expression, what it printed, and the files that it wrote.
Variables, imports and files stay for later calls of the same conversation.
Only the standard library is there (csv, json, statistics, sqlite3, math, decimal, datetime, re, zipfile, xml ...): no numpy, pandas or matplotlib, \
nothing can be installed, no network, no other processes.
Files that came with the question can be read by their path; files written to the working directory are given to the user, so there is no need \
to print their content.
results["<name of a tool>"] has what another tool has given last in this run, as parsed JSON.
For a chart, let the last expression be the rows (a list of objects) and hand them to a chart tool.`

const schema = {
  type: 'object',
  properties: {
    code: {
      type: 'string',
      minLength: 1,
      maxLength: 100_000,
      description: 'Python source. End with an expression to see its value; top-level await works.',
    },
  },
  required: ['code'],
  additionalProperties: false,
}

/** What a test may set otherwise. */
export interface RunPythonOptions extends Partial<Pick<RoomsOptions, 'spareMs' | 'spareDelayMs'>> {
  /** When the first spare process is started, after the tool was made: the service has other things to do while it starts. */
  prepareMs?: number
}

const mebibyte = 1024 * 1024
/** Of files that came with questions. */
const maxGivenBytes = 50 * mebibyte
const written = { files: 20, bytes: 50 * mebibyte }
const maxResultsCharacters = 10_000_000
/** Room around the texts of an answer. */
const frame = 200
/** Between the end of the code's time and the end of the call's: to interrupt it, else to kill it, and to tell. */
const marginMs = 1_000

/** `results["name"]` and `results.get("name")`. */
const namedResults = /\bresults\s*(?:\[|\.get\(|\.pop\()\s*(["'])((?:(?!\1)[^\n\\])+)\1/g

/**
 * Gives `{result?, stdout?, stderr?, files?, note?}`. Its effect is `read`: code changes nothing outside of its own process, and files that a lost
 * call made are not part of any answer.
 */
export function createRunPython(spec: ToolSpec, { files, cacheDir, log }: ToolDependencies, options: RunPythonOptions = {}): ToolBuild {
  const { prepareMs = 5_000, ...roomsOptions } = options
  const memoryMb = Number(spec.config['memory_mb'] ?? 512)
  const answers = { maxCharacters: Math.floor(spec.maxOutputCharacters / 2), written }
  const startPython = createStarter(memoryMb, cacheDir, answers)
  const start = () =>
    startPython().catch((err: unknown) => {
      log.warn({ tool: spec.name, err }, 'Python can not be started')
      throw err
    })
  const rooms = createRooms({
    start,
    max: Number(spec.config['max_processes'] ?? 4),
    keepMs: Number(spec.config['keep_minutes'] ?? 10) * 60_000,
    ...roomsOptions,
  })
  const given = createGivenFiles(files, Math.min(maxGivenBytes, ((memoryMb - 128) / 2) * mebibyte))
  const preparing = setTimeout(() => rooms.prepare(), prepareMs).unref()

  async function execute(input: JsonObject, context: ToolContext): Promise<JsonValue> {
    const endsAt = performance.now() + spec.timeoutMs - Math.min(marginMs, spec.timeoutMs / 5)
    const code = String(input['code'])
    const visit = {
      // What was computed of all data must not be found where some of it is filtered.
      session: `${context.session}\n${context.restriction}`,
      caller: context.caller,
      signal: context.signal,
      patienceMs: endsAt - performance.now(),
      accepts: (room: Room) => given.mayKeep(room, context),
    }
    return rooms.visit(visit, async (room, found) => {
      const { files: brought, notes } = await given.bring(room, context)
      const results = resultsFor(code, context)
      const limitMs = Math.max(1, endsAt - performance.now())
      const order = { code, given: brought, ...answers, ...(results && { results }) }
      const ran = await room.interpreter.run(order, { limitMs, signal: context.signal }).catch((error: unknown) => {
        if (error instanceof InterpreterLost) log.info({ tool: spec.name, reason: error.reason }, 'A Python process has ended')
        throw toFailure(error, limitMs)
      })
      context.signal.throwIfAborted()
      for (const path of ran.notGiven) {
        room.given.delete(path)
        notes.push(`${path} is not there: there was no room for it.`)
      }
      if (found.hasForgotten) notes.unshift(forgotten)
      return tell(ran, { found, notes, limitMs, context })
    })
  }

  async function tell(ran: Ran, about: { found: Found; notes: string[]; limitMs: number; context: ToolContext }): Promise<JsonValue> {
    const { found, notes, limitMs, context } = about
    const names = await keep(ran.files, context, notes)
    if (ran.left.length > 0) {
      notes.push(`Not kept, too many or too large (${written.files} files and 50 MB for a call): ${shorten(ran.left.join(', '), 500)}.`)
    }
    const told = readTold(ran.told)
    const answer = toAnswer(told, ran, names, notes)
    const limit = spec.maxOutputCharacters - frame
    if (told.error === undefined) return fitAnswer(answer, limit) as JsonObject
    if (told.stopped) notes.push(`The code was stopped after ${seconds(limitMs)} s; its variables are still there.`)
    if (found.isFresh && !found.hasForgotten && /^(NameError|FileNotFoundError)/m.test(told.error)) notes.push(firstCall)
    throw new Error(toFailureText(told.error, fitAnswer({ ...answer, note: notes.join(' ') }, limit - told.error.length)))
  }

  return {
    tool: createTool(spec, { description, schema, effect: 'read', filters: false, execute }),
    async close() {
      clearTimeout(preparing)
      await rooms.close()
    },
  }
}

const forgotten = 'The variables and files of earlier calls are gone: they are kept for a while only.'
const firstCall = 'This is the first call in this Python: variables and files of earlier calls, if there were any, are gone.'

/** JSON of what the tools that the code names have given; undefined where it names none. */
function resultsFor(code: string, { latestOutput }: ToolContext): string | undefined {
  const names = new Set([...code.matchAll(namedResults)].map((match) => match[2] as string))
  if (names.size === 0) return undefined
  const found = [...names].map((name) => [name, latestOutput(name)] as const).filter(([, output]) => output !== undefined)
  const text = JSON.stringify(Object.fromEntries(found))
  if (text.length > maxResultsCharacters) throw new Error(`The results of ${[...names].join(', ')} are too large to be handed to Python.`)
  return text
}

async function keep(made: readonly RunFile[], context: ToolContext, notes: string[]): Promise<string[]> {
  const names: string[] = []
  for (const { path, bytes } of made) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    try {
      names.push((await context.artifact(name, mediaTypeOf(name), bytes)).name)
    } catch (error) {
      context.signal.throwIfAborted()
      notes.push(`${path} was not kept: ${messageOf(error)}`)
    }
  }
  return names
}

function toAnswer({ result, repr }: Told, { stdout, stderr }: Ran, files: string[], notes: readonly string[]): Answer {
  return {
    ...(result !== undefined && { result: JSON.parse(result) as JsonValue }),
    ...(repr !== undefined && { result: repr }),
    ...(stdout && { stdout }),
    ...(stderr && { stderr }),
    ...(files.length > 0 && { files }),
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

function toFailure(error: unknown, limitMs: number): unknown {
  if (!(error instanceof InterpreterLost)) return error
  const reasons = {
    memory: 'Python ran out of memory',
    crash: 'Python ended unexpectedly, most likely for want of memory or by calls that are nested too deeply',
    stopped: `The code did not stop when its ${seconds(limitMs)} s were over`,
  }
  return new Error(`${reasons[error.reason]}; its variables and files are gone. Do less at a time.`, { cause: error })
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
