import { Interrupted, type Decider, type PendingCall } from './approval.ts'
import type { Artifact, ArtifactUse, KeepArtifact, ReturnedFile } from './artifact.ts'
import type { Emit, StepStart } from './events.ts'
import { outcomeUnknown } from './history.ts'
import { isDeeper, maxJsonDepth } from '../json/shape.ts'
import type { Sample } from './sampling.ts'
import { Suspended, toPendingQuestions, type ResumedCall } from './suspension.ts'
import type { JsonObject, JsonSchema, JsonValue, Message, ToolImage } from './messages.ts'
import type { ProviderTool } from './model.ts'
import { maxImagesPerResult } from './tool-images.ts'
import { orAborted } from '../concurrency/or-aborted.ts'

/** Port: a tool of the agent. Adapters live in tools/. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input, `type: object`. */
  readonly schema: JsonSchema
  /** `read` may run again after a crash and in parallel; `write` runs at most once, and never beside another write. */
  readonly effect: 'read' | 'write'
  /** True when the tool enforces data filter hints on itself. */
  readonly filters: boolean
  readonly timeoutMs: number
  /** Longer output is cut; the model gets a note. */
  readonly maxOutputCharacters: number
  /** Calls run only after an approval, or are run by the client. Absent: no decision is needed. */
  readonly approval?: { by: Decider }
  /** How steps of this tool are shown; default: as a call of a tool of this name. */
  readonly shownAs?: Pick<StepStart, 'type' | 'tool'>
  /**
   * Set when an agent runs inside of the tool. Such a tool obeys its signal and is awaited after an abort, so that its
   * inner steps end first.
   */
  readonly isAgent?: boolean
  /**
   * Set on a tool that the provider of the model runs during a model call. The service never runs it: a call of such a
   * tool by its name is an error.
   */
  readonly provider?: ProviderTool
  /** True when this tool reads the file, given relative to the files root; withholds the file from other tools. */
  readsFile?(path: string): boolean
  /** The state of data that the tool prepares in the background. */
  state?(): ToolState
  /** Checks the input: returns the fault with the parameter's name, or undefined. */
  check(input: unknown): string | undefined | Promise<string | undefined>
  /** The description for a run with data filters, when the usual description would reveal filtered data. */
  describe?(scope: DataScope): string
  /** Runs the tool. A thrown error is a failure whose message is written for the model. */
  execute(input: JsonObject, context: ToolContext): Promise<JsonValue>
}

export interface ToolState {
  /** Work that has not ended, as a clause. */
  progress?: string
  /** Data that cannot be used, as a sentence for each. */
  faults: readonly string[]
}

/** The caller of a run or of a direct execution: a tenant, and the owner inside of the tenant. */
export interface Caller {
  tenant: string
  owner: string
}

export interface ToolContext {
  /** The call's id: the idempotency key for remote effects. */
  callId: string
  /** Aborted when the run is cancelled or the tool's time limit is reached. */
  signal: AbortSignal
  /** The caller's `stix*` headers, lower-case names. */
  headers: Readonly<Record<string, string>>
  /** W3C `traceparent` for requests to servers that the operator has configured; absent: there is no trace. */
  traceparent?: string
  /**
   * The caller: state of one tenant must never reach the calls of another. Operators' modules do not get the caller.
   */
  caller: Caller
  /** Key of the conversation for a tool's own state between calls: unique over all conversations of all callers. */
  session: string
  /**
   * The caller's `session-id`, or the id given by the service: unique among one caller's conversations. A sub-agent has
   * the id of its run.
   */
  sessionId: string
  /** Files of the question, relative to the files root. */
  contextFiles: readonly string[]
  /** The last output of a tool in this run; undefined before its first success. */
  latestOutput(tool: string): JsonValue | undefined
  /** Enforced filters on the tool, ANDed. */
  filters: readonly DataFilter[]
  /**
   * True when a file (relative to the files root) belongs to data that a hint restricts, so that this tool must not
   * read the file.
   */
  isWithheld(path: string): boolean
  /**
   * Canonical text of all hints of the run, on whatever tool; cached data of a run with other hints must not be used.
   * Empty for none.
   */
  restriction: string
  /** Appends a line to the step's human-readable log. */
  log(text: string): void
  /** Stores a file that the tool made as part of the answer. Rejects when the file cannot be stored. */
  artifact(name: string, type: string, bytes: Uint8Array, use?: ArtifactUse): Promise<Artifact>
  /** Connects an agent inside of the call to the run; absent outside of a run. */
  inner?: InnerAgent
  /** Asks the model of the run for a server; absent outside of a run. */
  sample?: Sample
  /** True when the tool may throw `Suspended`, because the run can wait for its caller. */
  maySuspend?: boolean
  /** Present when the call goes on after it was suspended. */
  resumed?: ResumedCall
}

/** Connects an agent inside of a tool call to the run around that call. */
export interface InnerAgent {
  /** Transcript of the agent inside of a call from before another process took the run over; empty at first. */
  earlierMessages(callId: string): readonly Message[]
  /**
   * Emits an inner agent's event as an event of the run: readers see the event, and the run can resume from it. Never
   * rejects: when the run has failed, the signal of the call is aborted.
   */
  emit: Emit
}

/** The data behind a tool visible to a run. */
export type DataScope = Pick<ToolContext, 'filters' | 'isWithheld' | 'restriction'>

export interface DataFilter {
  tool: string
  key: string
  type: 'equals' | 'not_equals' | 'in' | 'contains'
  value: string
}

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
}

export interface RunToolOptions {
  context: Omit<ToolContext, 'log' | 'signal' | 'artifact'>
  keepArtifact: KeepArtifact
  /** Absent: pictures are not shown to a model. */
  showImage?: ShowImage | undefined
  signal: AbortSignal
  /** Called with each line of the log, as the tool writes it. */
  onLog?: ((text: string) => void) | undefined
  /** Epoch milliseconds. */
  now(): number
}

/** Prepares a picture for the model. Rejects with the reason when the picture cannot be shown. */
export type ShowImage = (name: string, bytes: Uint8Array) => Promise<ToolImage>

/** Runs a tool within its time and output limits. Never throws: every failure becomes the outcome. */
export async function runTool(tool: Tool, input: JsonObject, options: RunToolOptions): Promise<ToolOutcome> {
  const startedAt = options.now()
  const lines: string[] = []
  const artifacts: Artifact[] = []
  const files = collectReturned(options.showImage)
  const ended = (isError: boolean, output: JsonValue, lastLine: string): ToolOutcome => {
    const whole = typeof output === 'string' ? output : JSON.stringify(output)
    lines.push(lastLine)
    const text = cut(whole, tool.maxOutputCharacters)
    return {
      isError,
      output: whole.length > maxStoredOutput ? text : output,
      text: [text, ...files.notes].join('\n'),
      log: lines.join('\n'),
      durationMs: options.now() - startedAt,
      artifacts,
      returned: files.returned,
      images: [...files.images],
    }
  }
  const timeout = AbortSignal.timeout(Math.ceil(tool.timeoutMs))
  const signal = AbortSignal.any([options.signal, timeout])
  let isStarted = false
  try {
    signal.throwIfAborted()
    isStarted = true
    const artifact: ToolContext['artifact'] = async (name, type, bytes, use) => {
      signal.throwIfAborted()
      const file = await options.keepArtifact({ name, type, bytes, tool: (tool.shownAs ?? { tool: tool.name }).tool })
      artifacts.push(file)
      if (use?.isReturned) await files.add(file, bytes, use.uri)
      return file
    }
    const log = (text: string) => {
      lines.push(text)
      options.onLog?.(text)
    }
    const context: ToolContext = { ...options.context, signal, artifact, log }
    // A tool that ignores its signal must not hold the run: the race leaves the tool behind.
    const work = tool.execute(input, context)
    const output = await (tool.isAgent ? work : orAborted(work, signal))
    if (isDeeper(output, maxJsonDepth)) throw new Error('The output is nested too deeply.')
    return ended(false, output ?? null, 'Done.')
  } catch (error) {
    const pending = signal.aborted ? {} : pendingOf(error, tool, options.context)
    const reason = options.signal.aborted ? cancelled(tool, isStarted) : timeout.aborted ? timedOut(tool) : messageOf(error)
    return { ...ended(true, { error: reason }, reason), ...pending }
  }
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

/**
 * Port: searches the given tools by words; best first, empty when nothing fits. With data filters, descriptions of
 * tools that may reveal filtered data are not searched.
 */
export type ToolSearch = (
  query: string,
  tools: readonly Tool[],
  options: { limit: number; filters: readonly DataFilter[] },
) => readonly Tool[]

/** Port: like `ToolSearch`, and by meaning as well. Takes at most a second or two. */
export type ToolFinder = (
  query: string,
  tools: readonly Tool[],
  options: { limit: number; filters: readonly DataFilter[]; signal: AbortSignal },
) => Promise<readonly Tool[]>

/** A listed tool, which may be unusable at the moment. */
export interface ToolListing {
  name: string
  /** The configured entry's name, when the entry stands for several tools. */
  entry?: string
  description: string
  status: 'ready' | 'initializing' | 'error'
  /** The reason for another status than `ready`. */
  reason?: string
  schema: JsonSchema
  /** Present when `ready`. */
  tool?: Tool
}

/** The tools of one configuration. Closed when the last run with this configuration has ended. */
export interface ToolSet {
  /** In the order of the configuration. */
  list(): readonly ToolListing[]
  search: ToolSearch
  /** Default: `search`. */
  find?: ToolFinder
  /**
   * Resolves when each tool is ready, has failed or took too long, while tools are made for the first time; undefined
   * afterwards.
   */
  settling(): Promise<void> | undefined
  close(): Promise<void>
}
