import type { Schema } from './operation.ts'
import type { Transport } from './transport.ts'

/** A tool of this program. The agent's model may call it, and `run` gives the output. */
export interface ClientTool {
  /** What the tool does, for the model. */
  description?: string | undefined
  /** JSON Schema of the input, of type object. Default: no parameters. The service checks the input by it. */
  schema?: Record<string, unknown> | undefined
  /** Runs a call. The output is any JSON; undefined counts as null. The message of a thrown error is shown to the model. */
  // The schema decides on the input, which no type can express here.
  // oxlint-disable-next-line typescript/no-explicit-any
  run(input: any): unknown
}

/** Tools by name. A name has at most 64 letters, digits, `_` and `-`, and is no name of the agent's own tools. */
export type ClientTools = Record<string, ClientTool>

type WaitingCalls = Schema<'ClientToolCalls'>

/** The request with the tools, for the model. */
export function withTools(request: Schema<'ChatRequest'>, tools: ClientTools | undefined): Schema<'ChatRequest'> {
  if (!tools) return request
  const own = Object.entries(tools).map(([name, { description = '', schema }]) => ({ name, description, ...(schema ? { schema } : {}) }))
  return { ...request, client_tools: [...(request.client_tools ?? []), ...own] }
}

/** Runs the calls at the same time, and sends each output. Sending the same output again changes nothing. */
export async function answerCalls(
  transport: Transport,
  { request_id: requestId, calls }: WaitingCalls,
  tools: ClientTools,
  signal?: AbortSignal,
): Promise<void> {
  await Promise.all(
    calls.map(async ({ tool_call_id, tool, tool_input: input }) => {
      const answer = await outcomeOf(tools[tool], tool, input)
      const body = { tool_call_id, ...answer }
      await transport.request('POST', '/core/v1/runs/{request_id}/approvals', { path: { request_id: requestId }, body, signal })
    }),
  )
}

type Outcome = { decision: 'output'; output: unknown } | { decision: 'error'; error: string }

async function outcomeOf(tool: ClientTool | undefined, name: string, input: unknown): Promise<Outcome> {
  if (!tool) return { decision: 'error', error: `This client has no tool ${name}.` }
  try {
    return { decision: 'output', output: (await tool.run(input)) ?? null }
  } catch (error) {
    const message = error instanceof Error && error.message !== '' ? error.message : 'The tool failed.'
    return { decision: 'error', error: message.slice(0, maxErrorCharacters) }
  }
}

const maxErrorCharacters = 20_000
