/** What the model and the tools say to each other. These are the only shapes that a transcript is made of. */
export type Message = UserMessage | AssistantMessage | ToolMessage

export interface UserMessage {
  role: 'user'
  text: string
  images?: Image[]
  /** Not a person's: the loop tells the model what to do next. */
  instruction?: Instruction
}

/** Make a plan; do its next step; change it, because a step failed; answer. */
export type Instruction = 'plan' | 'step' | 'change' | 'answer'

export interface Image {
  /** MIME type, such as `image/png`. */
  mediaType: string
  /** Base64, without a `data:` prefix. */
  data: string
  /** Of an earlier turn: a model that can't see is told its name instead. */
  earlier?: { name: string }
}

export interface AssistantMessage {
  role: 'assistant'
  text: string
  reasoning?: string
  toolCalls: ToolCall[]
  /** What a provider wants back unchanged in the next request (signed reasoning, for instance). Nobody but its adapter reads it. */
  vendor?: { provider: string; data: JsonValue }
}

export interface ToolCall {
  /** Ours (UUIDv7), not the model's: models repeat theirs. */
  id: string
  name: string
  /** JSON text just as the model wrote it; may be malformed. */
  arguments: string
  /** Who must approve of it before it is made, as it was when the model asked: what the configuration says later changes nothing. Absent: nobody. */
  approval?: 'caller' | 'role'
}

export interface ToolMessage {
  role: 'tool'
  callId: string
  name: string
  text: string
  isError: boolean
  /** Pictures that the tool has returned for the model to look at. */
  images?: ToolImage[]
}

/** A picture in a tool's result. Stored messages have it without its bytes: `data` is empty until they are read again. */
export interface ToolImage extends Image {
  /** Its file's name. */
  name: string
  /** The run that the bytes are kept under, and their number there. */
  requestId: string
  n: number
}

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }
export type JsonObject = { [key: string]: JsonValue }
/** A JSON Schema (draft 2020-12 or 07). */
export type JsonSchema = { [keyword: string]: unknown }
