import { Interrupted, type Decider, type PendingCall } from './approval.ts'
import type { Artifact, ArtifactUse, KeepArtifact, ReturnedFile } from './artifact.ts'
import type { AgentEvent, StepStart } from './events.ts'
import { outcomeUnknown } from './history.ts'
import { isDeeper, maxJsonDepth } from './json-depth.ts'
import type { JsonObject, JsonSchema, JsonValue, Message, ToolImage } from './messages.ts'
import { maxImagesPerResult } from './tool-images.ts'
import { orAborted } from '../concurrency/or-aborted.ts'

/** Port: something that the agent can do. Adapters live in tools/. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input, `type: object`. */
  readonly schema: JsonSchema
  /** `read` may be run again after a crash and beside others; `write` runs at most once and alone among the writes. */
  readonly effect: 'read' | 'write'
  /** Whether data filter hints on this tool are enforced by it. */
  readonly filters: boolean
  readonly timeoutMs: number
  /** Longer output is cut, and the model is told so. */
  readonly maxOutputCharacters: number
  /** A call of it is made only when somebody has approved of it. Absent: nobody is asked. */
  readonly approval?: { by: Decider }
  /** How its steps are shown, where not as a call of a tool of this name. */
  readonly shownAs?: Pick<StepStart, 'type' | 'tool'>
  /** An agent runs inside of it: it hears its signal, and is waited for, so that its last steps end before its own. */
  readonly isAgent?: boolean
  /** Whether this tool reads from the file, given relative to the files root; used to withhold it from other tools. */
  readsFile?(path: string): boolean
  /** What is wrong with the input, naming the parameter; undefined when it fits. */
  check(input: unknown): string | undefined
  /** The description for a run with data filters, where the usual one would tell of data that they hide. */
  describe?(scope: DataScope): string
  /** Runs it. A throw is a failure that the model is told about: its message is written for the model. */
  execute(input: JsonObject, context: ToolContext): Promise<JsonValue>
}

/** The caller of a run or of a direct execution: a tenant, and the owner inside of the tenant. */
export interface Caller {
  tenant: string
  owner: string
}

export interface ToolContext {
  /** The call's id: the idempotency key for what is done elsewhere. */
  callId: string
  /** Aborted when the run is cancelled or the tool's time is up. */
  signal: AbortSignal
  /** The caller's `stix*` headers, lower-case names. */
  headers: Readonly<Record<string, string>>
  /** W3C `traceparent` for requests to servers that the operator has configured; absent: there is no trace. */
  traceparent?: string
  /** Whose call this is: what a process has seen of one tenant must not meet the calls of another. Modules of operators are not given the caller. */
  caller: Caller
  /** Names the conversation, for what a tool keeps between its calls: no other conversation and nobody else's has this name. */
  session: string
  /** The caller's `session-id`, or the one that the service gave: unique among the conversations of one caller, and a sub-agent's is its run's. */
  sessionId: string
  /** Files that came with the question, relative to the files root. */
  contextFiles: readonly string[]
  /** What a tool has given last in this run; undefined where it has not succeeded in it. */
  latestOutput(tool: string): JsonValue | undefined
  /** Enforced filters on this tool, ANDed. */
  filters: readonly DataFilter[]
  /** Whether a file (relative to the files root) belongs to data that a hint restricts and this tool may therefore not read. */
  isWithheld(path: string): boolean
  /** Names all hints of the run, on whatever tool: what was kept of a run with others is nothing for this one. Empty where there are none. */
  restriction: string
  /** Appends a line to the step's human-readable log. */
  log(text: string): void
  /** Keeps a file that the tool made; it becomes part of the answer. Throws where it can't be kept. */
  artifact(name: string, type: string, bytes: Uint8Array, use?: ArtifactUse): Promise<Artifact>
  /** For an agent inside of the call; absent outside of a run. */
  inner?: InnerAgent
}

/** How an agent that runs inside of a tool call is part of the run around it. */
export interface InnerAgent {
  /** What the agent inside of a call had said before another process took the run over; empty at first. */
  earlier(callId: string): readonly Message[]
  /** Makes its event one of the run: readers see it, and it can be gone on from. Resolves when it is kept. */
  tell(event: AgentEvent): Promise<void>
}

/** What a run may see of the data behind a tool. */
export type DataScope = Pick<ToolContext, 'filters' | 'isWithheld' | 'restriction'>

export interface DataFilter {
  tool: string
  key: string
  type: 'equals' | 'not_equals' | 'in' | 'contains'
  value: string
}

/** How one call ended. `output` is JSON for the caller, `text` the same for the model. */
export interface ToolOutcome {
  isError: boolean
  output: JsonValue
  text: string
  log: string
  durationMs: number
  /** Files that it made, also where it failed in the end. */
  artifacts: Artifact[]
  /** Those of the files that are part of what it returned. */
  returned: ReturnedFile[]
  /** Pictures among them, for a model that sees. */
  images: ToolImage[]
  /** An agent inside of the call waits for approval of these: the call has not ended, and goes on when they are decided. */
  waitsFor?: readonly PendingCall[]
}

export interface RunToolOptions {
  context: Omit<ToolContext, 'log' | 'signal' | 'artifact'>
  keepArtifact: KeepArtifact
  /** Absent where nobody looks at pictures. */
  showImage?: ShowImage | undefined
  signal: AbortSignal
  /** Epoch milliseconds. */
  now(): number
}

/** Makes a picture fit for the model. Rejects with the reason why it can't be shown. */
export type ShowImage = (name: string, bytes: Uint8Array) => Promise<ToolImage>

/** Runs a tool within its time and output limits. Never throws: whatever goes wrong becomes the outcome. */
export async function runTool(tool: Tool, input: JsonObject, options: RunToolOptions): Promise<ToolOutcome> {
  const startedAt = options.now()
  const lines: string[] = []
  const artifacts: Artifact[] = []
  const files = collectReturned(options.showImage)
  const ended = (isError: boolean, output: JsonValue, last: string): ToolOutcome => {
    const whole = typeof output === 'string' ? output : JSON.stringify(output)
    lines.push(last)
    const text = cut(whole, tool.maxOutputCharacters)
    return {
      isError,
      output: whole.length > maxOutputKept ? text : output,
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
  let started = false
  try {
    signal.throwIfAborted()
    started = true
    const artifact: ToolContext['artifact'] = async (name, type, bytes, use) => {
      signal.throwIfAborted()
      const kept = await options.keepArtifact({ name, type, bytes, tool: (tool.shownAs ?? { tool: tool.name }).tool })
      artifacts.push(kept)
      if (use?.isReturned) await files.add(kept, bytes, use.uri)
      return kept
    }
    const context: ToolContext = { ...options.context, signal, artifact, log: (text) => lines.push(text) }
    // A tool that does not listen to its signal must not hold the run: the race leaves it behind.
    const work = tool.execute(input, context)
    const output = await (tool.isAgent ? work : orAborted(work, signal))
    if (isDeeper(output, maxJsonDepth)) throw new Error('The output is nested too deeply.')
    return ended(false, output ?? null, 'Done.')
  } catch (error) {
    const waitsFor = tool.isAgent && error instanceof Interrupted && !signal.aborted ? { waitsFor: error.calls } : {}
    const why = options.signal.aborted ? cancelled(tool, started) : timeout.aborted ? timedOut(tool) : messageOf(error)
    return { ...ended(true, { error: why }, why), ...waitsFor }
  }
}

/** The files that a call returns, and what the model is shown of them. */
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

/** Characters of JSON that are kept for the caller; of more, only what the model was told. */
const maxOutputKept = 262_144

function cancelled(tool: Tool, started: boolean): string {
  return started && tool.effect === 'write' ? `The call was cancelled. ${outcomeUnknown}` : 'The call was cancelled.'
}

function timedOut(tool: Tool): string {
  return `${tool.name} did not finish within ${tool.timeoutMs / 1000} s.`
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message ? error.message : 'The tool failed.'
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit).toWellFormed()}\n[cut: ${text.length - limit} of ${text.length} characters left out]`
}

/**
 * Port: finds tools by their words, among those given; best first, none where nothing fits. Where data is filtered, the descriptions of
 * tools that may tell of it are not looked into.
 */
export type ToolSearch = (
  query: string,
  among: readonly Tool[],
  options: { limit: number; filters: readonly DataFilter[] },
) => readonly Tool[]

/** A tool as it is listed: also while it can't be used. */
export interface ToolListing {
  name: string
  /** Of the configuration, where it has another name: it stands for several tools. */
  entry?: string
  description: string
  status: 'ready' | 'initializing' | 'error'
  /** Why it is not ready. */
  reason?: string
  schema: JsonSchema
  /** Present when `ready`. */
  tool?: Tool
}

/** The tools of one configuration. Closed when the last run that uses them has ended. */
export interface ToolSet {
  /** In the order of the configuration. */
  list(): readonly ToolListing[]
  search: ToolSearch
  /** While tools are made for the first time: resolves when each is ready or has failed, or took too long. Undefined from then on. */
  settling(): Promise<void> | undefined
  close(): Promise<void>
}
