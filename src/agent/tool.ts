import type { Decider, ResumedCall } from './approval.ts'
import type { Emit, StepStart, ToolProgress } from './events.ts'
import type {
  JsonObject,
  JsonSchema,
  JsonValue,
  Message,
  ToolImage,
  Artifact,
  ArtifactUse,
  AssistantMessage,
  UserMessage,
  Taint,
} from './messages.ts'
import type { ModelMeter, ModelReply, ProviderTool } from './model.ts'

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
  /** Marks for containment. Absent: the strictest. */
  readonly marks?: ToolMarks
  /** The decider on calls held by containment; default: the caller. */
  readonly decider?: Decider
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
  /** Set on the tools that find tools and skills: always offered, whatever the loaded skills allow. */
  readonly isAlwaysAllowed?: true
  /** The address in an input, for a tool with addresses chosen by the model. */
  destinationOf?(input: JsonObject): Destination
  /** True when this tool reads the file, given relative to the files root; withholds the file from other tools. */
  readsFile?(path: string): boolean
  /** The state of data that the tool prepares in the background. */
  state?(): ToolState
  /** Checks the input: returns the fault with the parameter's name, or undefined. */
  check(input: unknown): string | undefined | Promise<string | undefined>
  /** The description for a run with data filters, when the usual description would reveal filtered data. */
  describe?(scope: DataScope): string
  /** Reads a document that this tool searches; undefined for an id that the tool does not find. */
  readDocument?(id: string, caller: Caller): Promise<FoundDocument | undefined>
  /** Runs the tool. A thrown error is a failure whose message is written for the model. */
  execute(input: JsonObject, context: ToolContext): Promise<JsonValue>
}

/** A document with its whole text, as a search tool reads it. */
export interface FoundDocument {
  name: string
  text: string
  metadata: JsonObject
}

export interface ToolMarks {
  /** `untrusted`: strangers can write the output. */
  trust: 'trusted' | 'untrusted'
  /** True when the output is data of the tenant. */
  private: boolean
  /** True when a call carries text of the model outside. */
  outbound: boolean
  /** Set on the tools of a server with own descriptions: the name of the entry. */
  describedBy?: string
}

export interface Destination {
  url: string
  /** True for a request that only reads, such as GET. */
  isSafe: boolean
  /** True when the request holds nothing of the model beside the address. */
  isBare: boolean
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
  /** Reports how far the call is: to readers that are live, and as a line of the log. */
  report(progress: ToolProgress): void
  /** Stores a file that the tool made as part of the answer. Rejects when the file cannot be stored. */
  artifact(name: string, type: string, bytes: Uint8Array, use?: ArtifactUse): Promise<Artifact>
  /** Connects an agent inside of the call to the run; absent outside of a run. */
  inner?: InnerAgent
  /** Asks the model of the run for a server; absent outside of a run. */
  sample?: Sample
  /** Pays for what the tool asks of a model, such as the vector of a query; absent: the search decides who pays. */
  meter?: ModelMeter
  /** Taint of everything shown to the model before the call, for an agent inside of the call. Absent: no containment. */
  shown?: Taint
  /** The words of the persons of the run, for an agent inside of the call. */
  humanTexts?: readonly string[]
  /** Adds the taint of an agent inside of the call. */
  addTaint?(taint: Taint): void
  /** Reports that a redirect has led to another host, so that strangers may have written the output. */
  reportHost?(host: string): void
  /** The addresses that the call may reach, redirects included; absent: every address. Throws for another address. */
  assertReachable?(url: URL): void
  /** True when the tool may throw `Suspended`, because the run can wait for its caller. */
  maySuspend?: boolean
  /** Present when the call goes on after it was suspended. */
  resumed?: ResumedCall
}

/** A request to the model of the run, from a server during a call. Nothing of the run is added. */
export interface SampleRequest {
  /** Empty for none. */
  system: string
  messages: readonly (UserMessage | AssistantMessage)[]
  maxOutputTokens: number
}

/** Asks the model of the run on behalf of a tool. Throws `ModelError`. */
export type Sample = (request: SampleRequest, signal: AbortSignal) => Promise<ModelReply>

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

/** Prepares a picture for the model. Rejects with the reason when the picture cannot be shown. */
export type ShowImage = (name: string, bytes: Uint8Array) => Promise<ToolImage>

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
  options: { limit: number; filters: readonly DataFilter[]; signal: AbortSignal; meter?: ModelMeter | undefined },
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
