import { charactersPerToken } from '../../../../agent/history.ts'
import { accessTo, type Principal } from '../../../../access/permissions.ts'
import type { CurrentAgent } from '../../../../configuration/agent.ts'
import { toSizedMessage } from '../../../../runs/window/window.ts'
import type { SessionStore } from '../../../../sessions/session-store.ts'
import { route } from '../../../schemas/shared.ts'
import type { App } from '../../../server/app.ts'
import { principalOf } from '../../../server/authenticate.ts'
import type { BroughtChat } from '../../model-apis/brought-chat.ts'
import { countTokens } from '../../model-apis/count-tokens.ts'
import { refuseOtherModel } from '../../model-apis/parameters.ts'
import { openAiErrors } from '../errors.ts'
import { toInstructions } from '../parameters.ts'
import { openAiRefusals } from '../replies.ts'
import { openCompactions, type SealServices } from './compactions.ts'
import { toInputItems, toItems, toResponseChat, type Item } from './input.ts'
import { refuseUnsupported, toChatOptions, toResponseFields } from './parameters.ts'
import { findContinued, type PlaceServices } from './place.ts'
import { withoutReferences, type ReferenceServices } from './references.ts'
import { CountedBody, InputTokens, type ResponseBody } from './schemas.ts'

export interface CountServices extends ReferenceServices, SealServices {
  agent: CurrentAgent
  runStore: PlaceServices['runStore']
  sessionStore: Pick<SessionStore, 'find' | 'message' | 'messages'>
}

/** Estimates what a request would show the model. */
export function inputTokensRoute(app: App, services: CountServices): void {
  app.post(
    '/v1/responses/input_tokens',
    route({ access: accessTo.chat, errorShape: openAiErrors, maxBodyBytes: Infinity }, 'OpenAI', {
      summary: 'Estimate the input tokens of a response',
      text: 'The tokens of the first model call of a request, with the instructions and the tools of the agent, and with the messages that `previous_response_id` or `conversation` name, as far as the model is shown them: a token for each 4 characters, 1,000 for each image or document. Nothing runs.\n\n404: the model is not this agent; the previous response, the conversation or a referenced item is unknown.',
      examples: { question: { summary: 'A question', value: { model: 'agent-core', input: 'What were the total sales by region?' } } },
      body: CountedBody,
      response: { 200: InputTokens, ...openAiRefusals(400, 401, 403, 404, 413, 415, 429, 500, 503) },
    }),
    async (request) => ({ object: 'response.input_tokens', input_tokens: await countInput(services, principalOf(request), request.body) }),
  )
}

async function countInput(services: CountServices, principal: Principal, sent: CountedBody): Promise<number> {
  const agent = services.agent()
  const body = { ...sent, model: sent.model ?? agent.config.uri_id, input: sent.input ?? [] }
  refuseUnsupported(body, agent.config)
  refuseOtherModel(body.model, agent.config)
  const { asked, outputCharacters } = withoutWaiting(
    await withoutReferences(services, principal, await openCompactions(services, principal, toItems(toInputItems(body)))),
  )
  const earlierTokens = await countContinued(services, principal, body)
  const { messages, continuation, images, sentFiles } = asked.length > 0 ? toResponseChat(asked) : noChat
  const { body: options } = toChatOptions(body, agent.config.llms)
  const instructions = toInstructions(body.instructions, body.text?.verbosity)
  const source = { messages, continuation, sentFiles, instructions, body: { messages: [], ...options, images } }
  return countTokens(source, agent) + earlierTokens + Math.ceil(outputCharacters / charactersPerToken)
}

const noChat: BroughtChat = { messages: [], images: [], sentFiles: [] }

/** Outputs without their call belong to a response that waits: the model is shown their texts. */
function withoutWaiting(items: readonly Item[]): { asked: Item[]; outputCharacters: number } {
  const calls = new Set(items.flatMap((item) => (item.type === 'function_call' ? [item.callId] : [])))
  const asked: Item[] = []
  let outputCharacters = 0
  for (const item of items) {
    if (item.type === 'function_call_output' && !calls.has(item.callId)) outputCharacters += item.output.length
    else asked.push(item)
  }
  return { asked, outputCharacters }
}

/** A model is shown at most `memory.history_tokens` of a conversation: the newest messages and a summary. */
async function countContinued({ agent, ...stores }: CountServices, principal: Principal, body: ResponseBody): Promise<number> {
  const continued = await findContinued(stores, principal, toResponseFields(body))
  if (!continued) return 0
  const { session, messages: end } = continued
  const messages = await stores.sessionStore.messages(session.tenant, session.key)
  const tokens = messages
    .filter(({ index }) => index < end)
    .reduce((sum, message) => sum + toSizedMessage({ ...message, idx: message.index }).tokens, 0)
  return Math.min(tokens, agent().config.memory.history_tokens)
}
