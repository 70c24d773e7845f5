import { hash } from 'node:crypto'
import { accessTo } from '../../../access/permissions.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import type { Exchange } from '../../reader.ts'
import { IdHeaders, route } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import type { ChatServices } from '../core/open-chat.ts'
import { openAnswer, sendAnswer, type OutputServices } from '../model-apis/answered-run.ts'
import { countTokens } from '../model-apis/count-tokens.ts'
import { jsonOrEvents } from '../openai/replies.ts'
import { anthropicErrors } from './errors.ts'
import { streamMessage, toMessage, type MessageHead } from './projection.ts'
import { toMessagesRequest, type MessagesRequest } from './request.ts'
import { anthropicRefusals, CountBody, MessageReply, MessagesBody, StreamEvent, TokenCount } from './schemas.ts'

const tag = 'Anthropic'
const messages = [{ role: 'user', content: 'What were the total sales by region?' }]
const base = { model: 'agent-core', max_tokens: 1024, messages }

type MessagesServices = ChatServices & OutputServices

/** Chats in the form of Anthropic's Messages API. Errors have the shape of Anthropic's API. */
export function messagesRoutes(app: App, services: MessagesServices): void {
  app.post(
    '/v1/messages',
    route({ access: accessTo.chat, errorShape: anthropicErrors, hasSession: true, startsRun: true, maxBodyBytes: Infinity }, tag, {
      summary: 'Chat, compatible with Anthropic’s Messages API',
      text: `Asks the agent through the interface of Anthropic's Messages API: point the base URL of a client at the address of the service, use an access key as its API key (\`x-api-key\`) and \`agent-core\` as the model. The agent's own tools run inside of the service; the reply has the answer alone, and with \`thinking\` also thoughts.

\`tools\` are run by the client. A call ends the reply with \`stop_reason: "tool_use"\`; the next request brings the outputs as \`tool_result\` blocks, and has the rest of the same run. A text beside them reaches the run as a message. Outputs that no run of the caller waits for are history, as are outputs with images or documents.

With \`stream: true\` the reply is server-sent events, from \`message_start\` to \`message_stop\`.

Every parameter has its effect, or is a 400 that names it; parameters that the service does not know are ignored with \`openai.unknown_parameters: ignore\` in agent.yaml. Errors have the shape of Anthropic's API; an overload is 529. The header \`session-id\` continues a conversation; without it each request is a session of its own.

404: the model is not this agent. 409, 410, 502: as for \`POST /core/v1/chain\`.`,
      examples: {
        question: { summary: 'A question', value: base },
        stream: { summary: 'A streamed answer', value: { ...base, stream: true } },
        document: {
          summary: 'A question about a document',
          value: {
            ...base,
            messages: [
              {
                role: 'user',
                content: [
                  {
                    type: 'document',
                    title: 'rules.md',
                    source: { type: 'text', media_type: 'text/plain', data: '# Parking\n\nVisitors park in the yard.' },
                  },
                  { type: 'text', text: 'Where do visitors park?' },
                ],
              },
            ],
          },
        },
        tools: {
          summary: 'A question, with a tool that the client runs',
          value: {
            ...base,
            messages: [{ role: 'user', content: 'What is the weather in Basel?' }],
            tools: [
              {
                name: 'get_weather',
                description: 'The weather in a city.',
                input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
              },
            ],
          },
        },
      },
      headers: IdHeaders,
      body: MessagesBody,
      response: {
        200: jsonOrEvents(MessageReply, StreamEvent, 'the events of the Messages API, from `message_start` to `message_stop`.'),
        ...anthropicRefusals(400, 401, 403, 404, 409, 410, 413, 415, 429, 500, 502, 503, 529),
      },
    }),
    async (request, reply) => {
      const { opening, head, stream } = await openMessage(services, { request, reply }, request.body)
      return sendAnswer(reply, opening, head, {
        render: stream ? (hasSchema) => streamMessage(head, hasSchema) : undefined,
        toJson: (body, run) => toMessage(head, body, run),
      })
    },
  )

  app.post(
    '/v1/messages/count_tokens',
    route({ access: accessTo.chat, errorShape: anthropicErrors, maxBodyBytes: Infinity }, tag, {
      summary: 'Estimate the tokens of a message',
      text: 'The tokens of the first model call of a request, with the instructions and the tools of the agent: a token for each 4 characters, 1,000 for each image or document. Nothing runs.',
      examples: { question: { summary: 'A question', value: { model: 'agent-core', messages } } },
      body: CountBody,
      response: { 200: TokenCount, ...anthropicRefusals(400, 401, 403, 404, 413, 415, 429, 500, 503, 529) },
    }),
    async (request) => {
      const agent = services.agent()
      return { input_tokens: countTokens(toMessagesRequest(request.body, CountBody, agent.config).source, agent) }
    },
  )
}

/** Reads the body, so that the handler, which waits for the run, does not keep megabytes of images alive. */
async function openMessage(services: MessagesServices, exchange: Exchange, body: MessagesBody) {
  const stream = body.stream === true
  const asked = toMessagesRequest(body, MessagesBody, services.agent().config)
  const { source, showsThinking } = asked
  const { opening, head } = await openAnswer(services, exchange, { source, stream, ...toAnswers(services, asked) })
  return { opening, head: { ...head, model: body.model, showsThinking } satisfies MessageHead, stream }
}

/**
 * A text beside the outputs is sent to the run once, however often the request is repeated. A request with a tool that the waiting run does not have
 * gets a run of its own, which has the tool.
 */
function toAnswers({ runs }: MessagesServices, { outputs, message, source }: MessagesRequest) {
  const tools = source.body.client_tools ?? []
  const accepts = ({ status, request }: StoredRun) =>
    status !== 'interrupted' || tools.every(({ name }) => request?.clientTools?.some((tool) => tool.name === name))
  const send = async ({ tenant, owner, requestId, status }: StoredRun) => {
    if (message.trim() === '' || status !== 'interrupted') return
    const id = hash('sha256', JSON.stringify([requestId, outputs.map(({ callId }) => callId), message]))
    await runs.steer({ tenant, owner, requestId }, { id, mode: 'steer', text: message })
  }
  return { outputs, at: ['body', 'messages'], toId: (callId: string) => `toolu_${callId}`, accepts, prepare: send }
}
