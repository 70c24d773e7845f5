import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { joinTaints } from '../../agent/taint.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { WorkerLost } from '../../processes/worker.ts'
import { createTool, inputSchema, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { fitAnswer, reasonOf, saveFiles, seconds, shorten, toAnswer, toFailure, toFailureText } from './answer.ts'
import { createStarter } from './interpreter.ts'
import { readOutcome, type Ran } from './messages.ts'
import { createQuestionFiles, Workspaces, type WorkspaceLease, type WorkspaceOptions, type WorkspaceRequest } from './workspaces.ts'

const description = `Runs Python 3.14 code and returns the value of its last expression, the printed text, and the files that the code wrote.
Variables, imports and files stay for later calls of the same conversation.
Only the standard library is available (csv, json, statistics, sqlite3, math, decimal, datetime, re, zipfile, xml ...): no numpy, pandas or matplotlib, \
nothing can be installed, and there is no network and no other process.
Files attached to the question can be read by their path. Files written to the working directory are given to the user, so there is no need \
to print their content.
results["<name of a tool>"] is the last result of another tool in this run, as parsed JSON.
For a chart, let the last expression be the rows (a list of objects) and pass them to a chart tool.`

const schema = inputSchema(
  {
    code: {
      type: 'string',
      minLength: 1,
      maxLength: 100_000,
      description: 'Python source. End with an expression to see its value; top-level await works.',
    },
  },
  ['code'],
)

/** Overrides for tests. */
export interface RunPythonOptions extends Partial<Pick<WorkspaceOptions, 'spareMs' | 'spareDelayMs'>> {
  /** Delay in milliseconds before the first spare process is started, so that the process does not slow down the start of the service. */
  prepareMs?: number
}

const mebibyte = 1024 * 1024
/** Maximum size of all files of questions in a conversation. */
const maxQuestionFileBytes = 50 * mebibyte
const written = { files: 20, bytes: 50 * mebibyte }
const maxResultsCharacters = 10_000_000
/** Characters of an answer besides its texts. */
const frameCharacters = 200
/** Time between the limit of the code and the timeout of the call, for an interrupt, a kill and the answer. */
const marginMs = 1_000

/** Matches `results["name"]`, `results.get("name")` and `results.pop("name")`. */
const namedResults = /\bresults\s*(?:\[|\.get\(|\.pop\()\s*(["'])((?:(?!\1)[^\n\\])+)\1/g

/**
 * Returns `{result?, stdout?, stderr?, files?, note?}`. The effect is `read`: code changes nothing outside of its process, and files of a lost
 * call are not part of any answer.
 */
export function createRunPython(spec: ToolSpec, { files, cacheDir, log }: ToolDependencies, options: RunPythonOptions = {}): ToolBuild {
  const { prepareMs = 5_000, ...spareOptions } = options
  const memoryMb = Number(spec.config['memory_mb'] ?? 512)
  const answers = { maxCharacters: Math.floor(spec.maxOutputCharacters / 2), written }
  const startPython = createStarter(memoryMb, cacheDir, answers)
  const start = () =>
    startPython().catch((err: unknown) => {
      log.warn({ tool: spec.name, err }, 'Python cannot be started')
      throw err
    })
  const workspaces = new Workspaces({
    start,
    max: Number(spec.config['max_processes'] ?? 4),
    keepMs: Number(spec.config['keep_minutes'] ?? 10) * 60_000,
    ...spareOptions,
  })
  const questionFiles = createQuestionFiles(files, Math.min(maxQuestionFileBytes, ((memoryMb - 128) / 2) * mebibyte))
  const prepareTimer = setTimeout(() => workspaces.prepare(), prepareMs).unref()

  async function execute(input: JsonObject, context: ToolContext): Promise<JsonValue> {
    const endsAt = performance.now() + spec.timeoutMs - Math.min(marginMs, spec.timeoutMs / 5)
    const code = String(input['code'])
    const request: WorkspaceRequest = {
      // The restriction is part of the key, because variables computed from all data must not be visible in a filtered run.
      conversation: `${context.session}\n${context.restriction}`,
      caller: context.caller,
      signal: context.signal,
      maxWaitMs: endsAt - performance.now(),
      mayReuse: (workspace) => questionFiles.mayReuse(workspace, context),
    }
    return workspaces.use(request, async (lease) => {
      const { workspace } = lease
      const { files: inputFiles, notes } = await questionFiles.load(workspace, context)
      if (context.shown) {
        workspace.taint = joinTaints(workspace.taint, context.shown)
        context.addTaint?.(workspace.taint)
      }
      const results = resultsFor(code, context)
      const limitMs = Math.max(1, endsAt - performance.now())
      const order = { code, inputFiles, ...answers, ...(results && { results }) }
      const ran = await workspace.interpreter.run(order, { limitMs, signal: context.signal }).catch((error: unknown) => {
        if (error instanceof WorkerLost) log.info({ tool: spec.name, reason: reasonOf(error) }, 'A Python process has ended')
        throw toFailure(error, limitMs)
      })
      context.signal.throwIfAborted()
      for (const path of ran.rejectedFiles) {
        workspace.loadedFiles.delete(path)
        notes.push(`${path} is not available: there was not enough memory for the file.`)
      }
      if (lease.hasForgotten) notes.unshift(forgottenNote)
      return toResult(ran, { lease, notes, limitMs, context })
    })
  }

  async function toResult(
    ran: Ran,
    call: { lease: WorkspaceLease; notes: string[]; limitMs: number; context: ToolContext },
  ): Promise<JsonValue> {
    const { lease, notes, limitMs, context } = call
    const names = await saveFiles(ran.files, context, notes)
    if (ran.omittedFiles.length > 0) {
      notes.push(`Not saved (limit: ${written.files} files and 50 MB per call): ${shorten(ran.omittedFiles.join(', '), 500)}.`)
    }
    const outcome = readOutcome(ran.outcome)
    const answer = toAnswer(outcome, ran, names, notes)
    const limit = spec.maxOutputCharacters - frameCharacters
    if (outcome.error === undefined) return fitAnswer(answer, limit) as JsonObject
    if (outcome.stopped) notes.push(`The code was stopped after ${seconds(limitMs)} s. Its variables still exist.`)
    if (lease.isFresh && !lease.hasForgotten && /^(NameError|FileNotFoundError)/m.test(outcome.error)) notes.push(firstCallNote)
    throw new Error(toFailureText(outcome.error, fitAnswer({ ...answer, note: notes.join(' ') }, limit - outcome.error.length)))
  }

  return {
    tool: createTool(spec, { description, schema, effect: 'read', execute }),
    async close() {
      clearTimeout(prepareTimer)
      await workspaces.close()
    },
  }
}

const forgottenNote = 'The variables and files of earlier calls are gone: they are only kept for a while.'
const firstCallNote = 'This is the first call in this Python: variables and files of earlier calls, if there were any, are gone.'

/** JSON of the last results of the tools named in the code. Undefined if the code names no tool. */
function resultsFor(code: string, { latestOutput }: ToolContext): string | undefined {
  const names = new Set([...code.matchAll(namedResults)].map((match) => match[2] as string))
  if (names.size === 0) return undefined
  const outputs = [...names].map((name) => [name, latestOutput(name)] as const).filter(([, output]) => output !== undefined)
  const text = JSON.stringify(Object.fromEntries(outputs))
  if (text.length > maxResultsCharacters) throw new Error(`The results of ${[...names].join(', ')} are too large to be passed to Python.`)
  return text
}
