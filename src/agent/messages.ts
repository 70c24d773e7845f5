/** The messages between model and tools: the only shapes in a transcript. */
export type Message = UserMessage | AssistantMessage | ToolMessage

export interface UserMessage {
  role: 'user'
  text: string
  images?: Image[]
  /** Documents, audio and videos that the model reads itself. */
  files?: MessageFile[]
  /** Set on a message of the loop itself, not of a person: tells the model what to do next. */
  instruction?: Instruction
  /** Set on a message that a person has sent to the running agent. */
  steer?: Steer
  /** Set where `text` or the prompt holds more than the words of the person, for a model that does not read prompts. */
  parts?: MessageParts
}

/** Origin of a text. Recorded where containment is configured. */
export interface Taint {
  /** Origins of text of strangers; empty for none. */
  sources: readonly TaintSource[]
  /** True when data of the tenant may be in the text. */
  isPrivate: boolean
}

export interface TaintSource {
  /** The tool; `summary`, `memory`, `upload` or `model` for text that no call has brought. */
  tool: string
  /** Absent where no call has brought the text. */
  callId?: string
  /** The host of a web address. */
  host?: string
  /** The entry of a server that describes its own tools: such a text is no reason to hold calls of the same server. */
  entry?: string
}

/** Why a call is held: the model was shown text of strangers before the request. */
export interface Hold {
  verdict: 'approve' | 'refuse'
  sources: readonly TaintSource[]
}

/** A message of a person to a running agent. */
export interface Steer {
  id: string
  /** Number of the message in the run that the message was sent to, from 1. */
  position: number
  /** Order of delivery. */
  rank: number
}

/** Messages that a person sends to a run while the run goes on. */
export interface Inbox {
  /** True while messages may wait. A loop without messages reads nothing else. */
  isWaiting: boolean
}

/** What comes with a question, by its parts. */
export interface MessageParts {
  /** The words of the person. */
  question: string
  /** Facts that are remembered about the person, one sentence each. */
  memories?: readonly string[]
  files?: readonly { name: string; text: string; isWhole: boolean }[]
  /** Summary of the turns that are not shown any more. */
  summary?: string
}

/**
 * `plan`: make a plan. `step`: do its next step. `change`: change the plan after a failed step, `adapt`: after a
 * message of a person. `answer`: answer the
 * request. `repair`: answer again, because the answer does not fit its schema.
 */
export type Instruction = 'plan' | 'step' | 'change' | 'adapt' | 'answer' | 'repair'

export interface Image {
  /** MIME type, such as `image/png`. */
  mediaType: string
  /** Base64, without a `data:` prefix. */
  data: string
  /** Set on an image of an earlier turn: a model without vision gets the name instead. */
  earlier?: { name: string }
}

/** A file of a question that a model reads itself. */
export interface MessageFile {
  name: string
  /** MIME type, such as `application/pdf`. */
  mediaType: string
  /** Base64, without a `data:` prefix. */
  data: string
  /** Pages of a document, each of which the model sees as a picture too; absent where their number is unknown. */
  pages?: number
  /** The text of a document, for a model that does not read files of this type; absent: such a model cannot answer the question. */
  text?: string
  /** True for a file of an earlier turn: a model that does not read files of this type gets the name instead. */
  isEarlier?: true
}

export interface AssistantMessage {
  role: 'assistant'
  text: string
  reasoning?: string
  toolCalls: ToolCall[]
  /**
   * Data such as signed reasoning, which the provider wants back unchanged in later requests. Only the adapter that made the data reads
   * them, and only the model that made them gets them. Stored with the session.
   */
  vendor?: { provider: string; model?: string; data: JsonValue }
  /** What the provider names as sources of the text. Kept within the run, for the citations of its answer. */
  sources?: ModelSource[]
  /** Files that the model made with this message. */
  artifacts?: Artifact[]
  /** Taint from the descriptions of the tools, from calls of the provider during this reply, and from the sources of the reply. */
  taint?: Taint
}

/** A source of an answer, as the provider names it. */
export interface ModelSource {
  /** Absent for a document that has no address. */
  url?: string
  title: string
  /** The quoted text; absent when the provider sends none. */
  text?: string
  /** Characters in the text of the reply, the end exclusive; absent when the provider names no place. */
  start?: number
  end?: number
}

export interface ToolCall {
  /** A UUIDv7 of the loop: ids of models may repeat. */
  id: string
  name: string
  /** JSON text exactly as the model wrote it; may be malformed. */
  arguments: string
  /**
   * Who decides on the call, fixed when the model asked: a later change of the configuration has no effect. `caller` and
   * `role` approve the call; `client` runs the call and sends its output. Absent: the call runs without a decision.
   */
  approval?: 'caller' | 'role' | 'client'
  /** Fixed when the model asked, by the containment of that moment. */
  held?: Hold
}

export interface ToolMessage {
  role: 'tool'
  callId: string
  name: string
  text: string
  isError: boolean
  /** Returned pictures for the model. */
  images?: ToolImage[]
  /** Absent: the containment of the run was not configured. */
  taint?: Taint
}

/** A picture in a tool's result. In a stored message `data` is empty until the bytes are loaded. */
export interface ToolImage extends Image {
  /** The name of the picture's file. */
  name: string
  /** The run that stores the bytes, and the picture's number in that run. */
  requestId: string
  n: number
}

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }
export type JsonObject = { [key: string]: JsonValue }
/** A JSON Schema (draft 2020-12 or 07). */
export type JsonSchema = { [keyword: string]: unknown }

/** Session entry of a file made by a tool. The bytes are stored separately. */
export interface Artifact {
  /** UUIDv7. */
  id: string
  /** A base name, safe on any file system. */
  name: string
  /** MIME type. */
  type: string
  /** Bytes. */
  size: number
  /** SHA-256 of the bytes, in hex. */
  sha256: string
  /** The name of the tool. */
  tool: string
  /** Epoch milliseconds. */
  createdAt: number
}

/** Stores a file. Rejects when the file is too large or the disk is full. */
export type KeepArtifact = (file: NewArtifact) => Promise<Artifact>

/** How a call uses a file, beside storing it. */
export interface ArtifactUse {
  /**
   * True when the file is part of the call's result: models with vision see returned pictures, MCP clients get the
   * content.
   */
  isReturned: boolean
  /** The tool's URI of a returned resource that is neither picture nor sound. */
  uri?: string
}

/** A file in the result of a call. */
export interface ReturnedFile {
  artifact: Artifact
  uri?: string
}

/** A file as a tool passes it to `KeepArtifact`. */
export interface NewArtifact {
  /** The name that the tool or the model chose; made safe when stored. */
  name: string
  /** MIME type. */
  type: string
  bytes: Uint8Array
  tool: string
}
