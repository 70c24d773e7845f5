import { route, IdHeaders } from '../../../schemas/shared.ts'
import { accessTo } from '../../../../access/permissions.ts'
import type { App } from '../../../server/app.ts'
import { principalOf } from '../../../server/authenticate.ts'
import { sendFailure } from '../../../server/error-reply.ts'
import { openChat, type ChatServices } from '../../core/open-chat.ts'
import { lastReceived, wholeRun } from '../../../../runs/parts.ts'
import { answerRun, openAnswered, type OutputServices } from '../../model-apis/answered-run.ts'
import { streamCompletion, toCompletion, type CompletionHead } from './projection.ts'
import { toCompletionRequest } from './request.ts'
import { CompletionBody } from './schemas.ts'
import { ChatCompletion, ChatCompletionChunk, jsonOrEvents, openAiRefusals } from '../replies.ts'
import { outcomeOf, type Exchange, type Opening } from '../../../reader.ts'
import { sendRun } from '../../../send-run.ts'
import { openAiErrors } from '../errors.ts'
import { toCallId } from '../ids.ts'

const question = 'What were the total sales by region?'
const messages = [{ role: 'user', content: question }]

type CompletionServices = ChatServices & OutputServices

/** Chats in the form of OpenAI's chat completions. Errors have the shape of OpenAI's API. */
export function chatCompletionRoutes(app: App, services: CompletionServices): void {
  app.post(
    '/v1/chat/completions',
    route({ access: accessTo.chat, errorShape: openAiErrors, hasSession: true, startsRun: true, maxBodyBytes: Infinity }, 'OpenAI', {
      summary: 'Chat, compatible with OpenAI’s chat completions',
      text: `Asks the agent through the interface of OpenAI's chat completions: point the base URL of a client at \`<address>/v1\`, use an access key as its API key and \`agent-core\` as the model. The agent's own tools run inside of the service; the reply has the answer alone, with thoughts in \`reasoning_content\`.

\`tools\` are run by the client. A call ends the reply with \`finish_reason: "tool_calls"\`; the next request brings the outputs as \`tool\` messages, and has the rest of the same run. Outputs that no run of the caller waits for are history.

With \`stream: true\` the reply is server-sent events with chunks, then \`[DONE]\`.

Every parameter has its effect, or is a 400 that names it; parameters that the service does not know are ignored with \`openai.unknown_parameters: ignore\` in agent.yaml. Errors have the shape of OpenAI's API. The header \`session-id\` continues a conversation. A chat whose call is not answered makes room for newer ones: a caller has at most 100 (\`limits.max_client_tool_waits\`), and outputs that come later are history.

The client usually sends the whole conversation. Without \`session-id\` each request is a session of its own.

404: the model is not this agent. 409, 410, 502: as for \`POST /core/v1/chain\`.`,
      examples: {
        question: { summary: 'A question', value: { model: 'agent-core', messages } },
        stream: {
          summary: 'A streamed answer',
          value: { model: 'agent-core', messages, stream: true, stream_options: { include_usage: true } },
        },
        file: {
          summary: 'A question about a file',
          value: {
            model: 'agent-core',
            messages: [
              {
                role: 'user',
                content: [
                  { type: 'file', file: { filename: 'rules.md', file_data: 'IyBQYXJraW5nCgpWaXNpdG9ycyBwYXJrIGluIHRoZSB5YXJkLg==' } },
                  { type: 'text', text: 'Where do visitors park?' },
                ],
              },
            ],
          },
        },
        tools: {
          summary: 'A question, with a tool that the client runs',
          value: {
            model: 'agent-core',
            messages: [{ role: 'user', content: 'What is the weather in Basel?' }],
            tools: [
              {
                type: 'function',
                function: {
                  name: 'get_weather',
                  description: 'The weather in a city.',
                  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
                },
              },
            ],
          },
        },
      },
      headers: IdHeaders,
      body: CompletionBody,
      response: {
        200: jsonOrEvents(ChatCompletion, ChatCompletionChunk, '`chat.completion.chunk`s, then `[DONE]`.'),
        ...openAiRefusals(400, 401, 403, 404, 409, 410, 413, 415, 429, 500, 502, 503),
      },
    }),
    async (request, reply) => {
      const { opening, head, stream, withUsage } = await openCompletion(services, { request, reply }, request.body)
      if (stream) {
        const render = (hasSchema: boolean) => streamCompletion(head, { withUsage, hasSchema })
        return sendRun(reply, opening, { after: lastReceived(head.part), render })
      }
      const chat = await opening.chat
      const { body, error } = await outcomeOf(chat)
      return error ? sendFailure(reply, error) : toCompletion(head, body, chat.run)
    },
  )
}

interface OpenCompletion {
  opening: Opening
  head: CompletionHead
  stream: boolean
  withUsage: boolean
}

/** Reads the body, so that the handler, which waits for the run, does not keep megabytes of images alive. */
async function openCompletion(services: CompletionServices, exchange: Exchange, body: CompletionBody): Promise<OpenCompletion> {
  const { request } = exchange
  const { model, metadata } = body
  const stream = body.stream === true
  const withUsage = body.stream_options?.include_usage === true
  const { source, outputs } = toCompletionRequest(body, services.agent().config)
  const answered =
    outputs.length > 0 && (await answerRun(services, principalOf(request), { outputs, at: ['body', 'messages'], toId: toCallId }))
  const head = { created: Math.floor(Date.now() / 1000), model, metadata: metadata ?? undefined }
  if (answered) {
    const { key, part } = answered
    return { opening: openAnswered(services, exchange, answered), head: { requestId: key.requestId, part, ...head }, stream, withUsage }
  }
  const opening = openChat(services, { ...exchange, operation: stream ? 'chain_streaming' : 'chain', source })
  return { opening, head: { requestId: request.id, part: wholeRun, ...head }, stream, withUsage }
}
