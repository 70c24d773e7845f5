import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../../../errors.ts'
import type { OpenRun } from '../../../../runs/open-run.ts'
import { SessionMoved } from '../../../../runs/run-store.ts'
import type { Unstored } from '../../../../runs/run.ts'
import { charactersIn } from '../../../../json/shape.ts'
import { principalOf } from '../../../server/authenticate.ts'
import { toNewChat, type ChatSource } from '../../core/chat-request.ts'
import { openChat, type ChatServices } from '../../core/open-chat.ts'
import { openForReply, type Exchange, type OpenChat, type Opening } from '../../../reader.ts'
import { setSessionId } from '../../../server/request-headers.ts'
import { openAnswered } from '../answered-run.ts'
import { refuseOtherModel } from '../model-names.ts'
import { toInstructions } from '../parameters.ts'
import { answerCalls, type CallServices } from './answer-calls.ts'
import { toResponseChat } from './chat.ts'
import { findPlace, type Place, type PlaceServices } from './conversation.ts'
import { wholeRun } from '../../../../runs/parts.ts'
import { toEcho, type PartEcho } from './echo.ts'
import { finalOutputs, toInputItems, toItems, type Item } from './input.ts'
import { storedInput } from './input-list.ts'
import { refuseUnsupported, toChatOptions, toResponseFields } from './parameters.ts'
import { withoutReferences } from './references.ts'
import type { ResponseBody } from './request.ts'
import type { ResponseHead } from './response.ts'
import { upToPart } from './parts.ts'

export type CreateServices = ChatServices & CallServices & PlaceServices

/** A response that is being made. */
export interface OpenResponse {
  head: ResponseHead
  opening: Opening
  /** True for an answer at once, without the result. */
  isQueued: boolean
}

/** Starts the run of a response, or resumes the run whose calls the request answers. Does not keep the body, which may have megabytes of images. */
export async function createResponse(services: CreateServices, exchange: Exchange): Promise<OpenResponse> {
  const { request } = exchange
  const body = request.body as ResponseBody
  const { config } = services.agent()
  refuseUnsupported(body, config)
  refuseOtherModel(body.model, config)
  const inputItems = toInputItems(body)
  const items = toItems(inputItems)
  const fields = toResponseFields(body)
  const echo = { created: Math.floor(Date.now() / 1000), fields, input: storedInput(inputItems) }
  refuseLong(echo, config.limits.max_input_characters)
  const isQueued = fields.background && body.stream !== true
  const resumed = await resume(services, exchange, items, echo)
  if (resumed) return { ...resumed, isQueued }
  const principal = principalOf(request)
  const place = await findPlace(services, request, principal, fields)
  const unstored = unstoredOf(request, fields)
  const source = toSource(services, body, await withoutReferences(services, principal, items), { place, echo, unstored })
  const head = { key: { requestId: request.id, part: 1 }, part: wholeRun, created: echo.created, fields }
  const opening = fields.background ? acceptChat(services, exchange, source, place) : openPlaced(services, exchange, source, place)
  return { head, opening, isQueued }
}

/** Characters of a request beside its input that are stored with the run: tools, the schema of the answer, and other parameters. */
const maxParameterCharacters = 400_000

/** Also a request that resumes a run, whose input is not sent to the model again, is stored. */
function refuseLong(echo: PartEcho, maxInputCharacters: number): void {
  const most = maxInputCharacters + maxParameterCharacters
  const characters = charactersIn(echo)
  if (characters <= most) return
  throw new ServiceError('input_too_large', `The request must have at most ${most} characters, but has ${characters}.`)
}

async function resume(
  services: CreateServices,
  { request, reply }: Exchange,
  items: readonly Item[],
  echo: PartEcho,
): Promise<Omit<OpenResponse, 'isQueued'> | undefined> {
  const outputs = finalOutputs(items)
  const calls = outputs.length > 0 ? await answerCalls(services, principalOf(request), outputs, echo) : undefined
  if (!calls) return undefined
  const { head, answered } = calls
  const { chat } = openAnswered(services, { request, reply }, answered)
  const upTo = chat.then((open): OpenChat => ({ ...open, run: upToPart(open.run, head.key.part) }))
  return { head, opening: { chat: upTo } }
}

interface Surroundings {
  place: Place
  echo: PartEcho
  unstored: Unstored | undefined
}

/** A session that the caller names is kept, without the run. */
function unstoredOf({ headers }: FastifyRequest, { store, conversation }: PartEcho['fields']): Unstored | undefined {
  if (store) return undefined
  return conversation || headers['session-id'] !== undefined ? 'run' : 'session'
}

function toSource(
  { agent }: CreateServices,
  body: ResponseBody,
  items: readonly Item[],
  { place, echo, unstored }: Surroundings,
): ChatSource {
  const { messages, images, sentFiles, continuation } = toResponseChat(items)
  const { body: options, ...rest } = toChatOptions(body, agent().config.llms)
  return {
    body: {
      messages: [],
      ...options,
      ...(images.length > 0 ? { images } : {}),
      ...(place.sessionId === undefined ? {} : { session_id: place.sessionId }),
    },
    at: ['body'],
    messages,
    sentFiles,
    ...(continuation ? { continuation } : {}),
    ...rest,
    instructions: toInstructions(body.instructions, body.text?.verbosity),
    echo: toEcho(echo),
    ...(place.afterMessages === undefined ? {} : { afterMessages: place.afterMessages }),
    ...(unstored ? { unstored } : {}),
    hasShortWait: body.background !== true,
  }
}

/** Opens the chat in its session, or in a branch of the session where another request has been faster. */
function openPlaced(services: CreateServices, { request, reply }: Exchange, source: ChatSource, { fork }: Place): Opening {
  const stream = (request.body as ResponseBody).stream === true
  const open = (chatSource: ChatSource) =>
    openChat(services, { request, reply, operation: stream ? 'chain_streaming' : 'chain', source: chatSource })
  refuseOtherSession(request, source)
  const { chat, settled } = open(source)
  if (!fork) return { chat, settled }
  const branched = chat.catch(async (error: unknown) => {
    if (!(error instanceof SessionMoved)) throw error
    return open(inSession(source, await fork())).chat
  })
  return { chat: branched, settled }
}

function inSession(source: ChatSource, sessionId: string): ChatSource {
  return { ...source, body: { ...source.body, session_id: sessionId } }
}

function refuseOtherSession({ headers }: FastifyRequest, { body }: ChatSource): void {
  const named = headers['session-id']
  if (named === undefined || typeof body.session_id !== 'string' || named === body.session_id) return
  throw new ServiceError('validation', 'The header session-id names another session than the conversation of the request.', {
    faults: [{ loc: ['header', 'session-id'], msg: 'names another session than the conversation of the request', type: 'value_error' }],
  })
}

/** Accepts a background response as an async run, which any process executes. */
function acceptChat(services: CreateServices, { request, reply }: Exchange, source: ChatSource, { fork }: Place): Opening {
  refuseOtherSession(request, source)
  const principal = principalOf(request)
  const { tenant, owner } = principal
  const accept = async (chatSource: ChatSource): Promise<void> => {
    const chat = toNewChat(request, 'chain_async', services.agent().config.limits.max_input_characters, chatSource)
    const event = { source: '/v1/responses', id: request.id, callbackUrl: undefined }
    const { sessionId } = await services.runs.accept(principal, event, () => chat)
    setSessionId(request, reply, sessionId)
    const run = await services.runStore.find({ tenant, owner, requestId: request.id })
    if (run?.bodyHash !== chat.bodyHash)
      throw new ServiceError('request_id_reused', `The request id ${request.id} was used for another request.`)
  }
  const open = async (disconnected: AbortSignal): Promise<OpenRun> => {
    await accept(source).catch(async (error: unknown) => {
      if (!(error instanceof SessionMoved) || !fork) throw error
      await accept(inSession(source, await fork()))
    })
    return services.runs.follow({ tenant, owner, requestId: request.id }, disconnected)
  }
  return { chat: openForReply(services, { request, reply }, open) }
}
