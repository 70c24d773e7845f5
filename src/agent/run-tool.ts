import { Interrupted, type PendingCall, Suspended, toPendingQuestions, type ClientAnswer } from './approval.ts'
import { outcomeUnknown, maxImagesPerResult } from './history.ts'
import { isDeeper, maxJsonDepth } from '../json/shape.ts'
import type { JsonObject, JsonValue, ToolImage, Artifact, ReturnedFile, KeepArtifact, JsonSchema } from './messages.ts'
import type { CallOutcome, ToolProgress } from './events.ts'
import { TimeLimit } from '../concurrency/time-limit.ts'
import type { Tool, ToolContext, ShowImage } from './tool.ts'

/** The outcome of one call. `output` is JSON for the caller, `text` the same for the model. */
export interface ToolOutcome {
  isError: boolean
  output: JsonValue
  text: string
  log: string
  durationMs: number
  /** Files that the tool made, also when the call failed in the end. */
  artifacts: Artifact[]
  /** The files in the call's result. */
  returned: ReturnedFile[]
  /** Returned pictures, for a model with vision. */
  images: ToolImage[]
  /** Calls of an inner agent that wait for a decision: this call has not ended and resumes when they are decided. */
  pendingCalls?: readonly PendingCall[]
  /** Set when the call waits for answers to its own questions. */
  suspended?: Suspended
  /** Set when the call was aborted or took too long: before the tool ran, or while the tool ran. */
  cutOff?: 'before' | 'during'
}

export interface RunToolOptions {
  context: Omit<ToolContext, 'log' | 'report' | 'signal' | 'artifact'>
  keepArtifact: KeepArtifact
  /** Absent: pictures are not shown to a model. */
  showImage?: ShowImage | undefined
  signal: AbortSignal
  /** Called with each line of the log, as the tool writes it. */
  onLog?: ((text: string) => void) | undefined
  /** Called with each report of the tool while the call runs. Default: `onLog`, with the report as text. */
  onProgress?: ((progress: ToolProgress) => void) | undefined
  /** Epoch milliseconds. */
  now(): number
}

/** Runs a tool within its time and output limits. Never throws: every failure becomes the outcome. */
export async function runTool(tool: Tool, input: JsonObject, options: RunToolOptions): Promise<ToolOutcome> {
  const startedAt = options.now()
  const lines: string[] = []
  const artifacts: Artifact[] = []
  let files: ReturnType<typeof collectReturned> | undefined
  const ended = (isError: boolean, output: JsonValue, lastLine: string): ToolOutcome => {
    const whole = typeof output === 'string' ? output : JSON.stringify(output)
    lines.push(lastLine)
    const text = cut(whole, tool.maxOutputCharacters)
    return {
      isError,
      output: whole.length > maxStoredOutput ? text : output,
      text: files ? [text, ...files.notes].join('\n') : text,
      log: lines.join('\n'),
      durationMs: options.now() - startedAt,
      artifacts,
      returned: files?.returned ?? [],
      images: [...(files?.images ?? [])],
    }
  }
  const limit = new TimeLimit(options.signal, Math.ceil(tool.timeoutMs))
  const { signal } = limit
  let isStarted = false
  try {
    signal.throwIfAborted()
    isStarted = true
    const artifact: ToolContext['artifact'] = async (name, type, bytes, use) => {
      signal.throwIfAborted()
      const file = await options.keepArtifact({ name, type, bytes, tool: (tool.shownAs ?? { tool: tool.name }).tool })
      artifacts.push(file)
      if (use?.isReturned) await (files ??= collectReturned(options.showImage)).add(file, bytes, use.uri)
      return file
    }
    const log = (text: string) => {
      lines.push(text)
      options.onLog?.(text)
    }
    const report = (progress: ToolProgress) => {
      if (signal.aborted) return
      const text = progressText(progress)
      lines.push(text)
      if (options.onProgress) options.onProgress(progress)
      else options.onLog?.(text)
    }
    const context: ToolContext = { ...options.context, signal, artifact, log, report }
    // A tool that ignores its signal must not hold the run: the race leaves the tool behind.
    const work = tool.execute(input, context)
    const output = await (tool.isAgent ? work : limit.race(work))
    if (isDeeper(output, maxJsonDepth)) throw new Error('The output is nested too deeply.')
    return ended(false, output ?? null, 'Done.')
  } catch (error) {
    const pending = signal.aborted ? {} : pendingOf(error, tool, options.context)
    const reason = options.signal.aborted ? cancelled(tool, isStarted) : limit.isOver ? timedOut(tool) : messageOf(error)
    const isCutOff = options.signal.aborted || limit.isOver
    return { ...ended(true, { error: reason }, reason), ...(isCutOff && { cutOff: isStarted ? 'during' : 'before' }), ...pending }
  } finally {
    limit.end()
  }
}

/** A report as a line of text. */
export function progressText({ progress, total, message }: ToolProgress): string {
  const part = total === undefined ? `${progress}` : `${progress} of ${total}`
  return message ? `${part}: ${message}` : part
}

/** What became of an executed call. */
export function toCallOutcome({ isError, cutOff }: ToolOutcome): CallOutcome {
  if (cutOff) return cutOff === 'during' ? 'unknown' : 'refused'
  return isError ? 'error' : 'success'
}

/** Why a call has not ended but waits; empty for a failure. */
function pendingOf(
  error: unknown,
  { name, isAgent }: Tool,
  { callId, maySuspend }: RunToolOptions['context'],
): Pick<ToolOutcome, 'pendingCalls' | 'suspended'> {
  if (isAgent && error instanceof Interrupted) return { pendingCalls: error.calls }
  if (!maySuspend || !(error instanceof Suspended)) return {}
  return { pendingCalls: toPendingQuestions(callId, name, error.questions), suspended: error }
}

/** Collects the files that a call returns, and the pictures and notes for the model. */
function collectReturned(showImage: ShowImage | undefined) {
  const returned: ReturnedFile[] = []
  const images: ToolImage[] = []
  const notes: string[] = []
  let pictures = 0

  async function add(artifact: Artifact, bytes: Uint8Array, uri: string | undefined): Promise<void> {
    returned.push({ artifact, ...(uri !== undefined && { uri }) })
    if (!showImage || !artifact.type.startsWith('image/')) return
    if (++pictures > maxImagesPerResult) {
      if (pictures === maxImagesPerResult + 1)
        notes.push(`[More than ${maxImagesPerResult} images came with this result: the others are not shown.]`)
      return
    }
    try {
      images.push(await showImage(artifact.name, bytes))
    } catch (error) {
      notes.push(`[${artifact.name} is not shown: ${messageOf(error)}.]`)
    }
  }

  return { returned, images, notes, add }
}

/** Characters of JSON stored for the caller; of longer output only the model's text is stored. */
export const maxStoredOutput = 262_144

function cancelled(tool: Tool, isStarted: boolean): string {
  return isStarted && tool.effect === 'write' ? `The call was cancelled. ${outcomeUnknown}` : 'The call was cancelled.'
}

function timedOut(tool: Tool): string {
  return `${tool.name} did not finish within ${tool.timeoutMs / 1000} s.`
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message ? error.message : 'The tool failed.'
}

/** Cuts an output for the model; a note says how much is missing. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit).toWellFormed()}\n[cut: ${text.length - limit} of ${text.length} characters left out]`
}

/** A tool of the client: the model calls the tool, and the client runs the call. */
export interface ClientTool {
  /** Fits `[A-Za-z0-9_-]{1,64}`, and is no name of the agent's own tools. */
  name: string
  description: string
  /** JSON Schema of the input, `type: object`. */
  schema: JsonSchema
}

/** Longer output of a client tool is cut for the model, as with the agent's own tools. */
const maxOutputCharacters = 20_000

/**
 * A client tool for the loop: its calls wait until the client answers. The effect is `write`, because nobody knows what
 * the client does, so no answered call is asked for again.
 */
export function toTool({ name, description, schema }: ClientTool, check: Tool['check']): Tool {
  return {
    name,
    description,
    schema,
    effect: 'write',
    filters: false,
    timeoutMs: 0,
    maxOutputCharacters,
    approval: { by: 'client' },
    // The client may return text of strangers. The arguments go to the caller alone.
    marks: { trust: 'untrusted', private: false, outbound: false },
    check,
    execute: () => Promise.reject(new Error('The client runs this tool.')),
  }
}

/** The output as stored for the caller: beyond a size, only the text that the model is shown. */
export function toStoredOutput(output: JsonValue): JsonValue {
  const text = toText(output)
  return text.length > maxStoredOutput ? cut(text, maxOutputCharacters) : output
}

/** The error as stored: not all protocols limit its length. */
export function toStoredError(error: string): string {
  return error.slice(0, maxOutputCharacters).toWellFormed()
}

/** The outcome of an answered call. The call took as long as the client needed for the answer. */
export function toClientOutcome(answer: ClientAnswer): ToolOutcome {
  const durationMs = Math.max(0, answer.decidedAt - answer.requestedAt)
  const rest = { durationMs, artifacts: [], returned: [], images: [] }
  if (answer.decision === 'output') {
    const text = cut(toText(answer.output), maxOutputCharacters)
    return { ...rest, isError: false, output: answer.output, text, log: 'The client has sent the output.' }
  }
  const text = cut(answer.error, maxOutputCharacters)
  return { ...rest, isError: true, output: { error: text }, text, log: text }
}

function toText(output: JsonValue): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}
