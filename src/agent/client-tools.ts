import type { ClientAnswer } from './approval.ts'
import type { JsonSchema, JsonValue } from './messages.ts'
import { type Tool } from './tool.ts'
import { cut, maxStoredOutput, type ToolOutcome } from './run-tool.ts'

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
