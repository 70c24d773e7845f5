import { route, IdHeaders } from '../../../schemas/shared.ts'
import { accessTo } from '../../../../access/permissions.ts'
import type { App } from '../../../server/app.ts'
import type { ChatServices } from '../../core/open-chat.ts'
import { openAnswer, sendAnswer, type OutputServices } from '../../model-apis/answered-run.ts'
import { streamCompletion, toCompletion, type CompletionHead } from './projection.ts'
import { toCompletionRequest } from './request.ts'
import { CompletionBody } from './schemas.ts'
import { ChatCompletion, ChatCompletionChunk, jsonOrEvents, openAiRefusals } from '../replies.ts'
import type { Exchange } from '../../../reader.ts'
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
      const { opening, head, options } = await openCompletion(services, { request, reply }, request.body)
      return sendAnswer(reply, opening, head, {
        render: options && ((hasSchema) => streamCompletion(head, { ...options, hasSchema })),
        toJson: (body, run) => toCompletion(head, body, run),
      })
    },
  )
}

/** Reads the body, so that the handler, which waits for the run, does not keep megabytes of images alive. */
async function openCompletion(services: CompletionServices, exchange: Exchange, body: CompletionBody) {
  const stream = body.stream === true
  const question = { ...toCompletionRequest(body, services.agent().config), stream, at: ['body', 'messages'], toId: toCallId }
  const { opening, head } = await openAnswer(services, exchange, question)
  const { model, metadata } = body
  const completion: CompletionHead = { ...head, created: Math.floor(Date.now() / 1000), model, metadata: metadata ?? undefined }
  return { opening, head: completion, options: stream ? { withUsage: body.stream_options?.include_usage === true } : undefined }
}
