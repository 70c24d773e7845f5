import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createUIMessageStreamResponse, safeValidateUIMessages, streamText, toUIMessageStream } from 'ai'

const agent = createOpenAICompatible({
  name: 'agent-core',
  baseURL: `${process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080'}/v1`,
  apiKey: process.env.AGENT_CORE_KEY,
})

/** The route of the page: takes a question, returns the stream that `useChat` reads. The access key stays on this side. */
export async function POST(request: Request): Promise<Response> {
  const { id, message } = (await request.json()) as { id: string; message: unknown }
  const checked = await safeValidateUIMessages({ messages: [message] })
  if (!checked.success) return new Response('The message is not valid.', { status: 400 })
  const question = checked.data[0]!
  const { stream } = streamText({
    model: agent('agent-core'),
    prompt: question.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    // The service keeps the conversation, and answers a question that is sent again without a second run.
    headers: { 'session-id': id, 'request-id': question.id },
    // The stop button, or a closed page, cancels the run.
    abortSignal: request.signal,
  })
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({ stream, onError: (error) => (error instanceof Error ? error.message : 'The agent has failed.') }),
  })
}
