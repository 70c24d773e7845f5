import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../../../errors.ts'
import { charactersIn } from '../../../../json/shape.ts'
import type { EchoStore } from '../../../../runs/log/echo-store.ts'
import type { OpenRun } from '../../../../runs/open-run.ts'
import { wholeRun, type RunPart } from '../../../../runs/parts.ts'
import type { Unstored } from '../../../../runs/run.ts'
import { SessionMoved } from '../../../../runs/run-store.ts'
import { openForReply, type Exchange, type OpenChat, type Opening } from '../../../reader.ts'
import { principalOf } from '../../../server/authenticate.ts'
import { setSessionId } from '../../../server/request-headers.ts'
import { toNewChat, type ChatSource, openChat, type ChatServices } from '../../core/open-chat.ts'
import { answerRun, openAnswered, type OutputServices } from '../../model-apis/answered-run.ts'
import { toCallId, toToolCallId } from '../ids.ts'
import { storedInput } from '../item-lists.ts'
import { refuseOtherModel } from '../../model-apis/parameters.ts'
import { toInstructions } from '../parameters.ts'
import { openCompactions, type SealServices } from './compactions.ts'
import { finalOutputs, toInputItems, toItems, toResponseChat, type Item } from './input.ts'
import { refuseUnsupported, toChatOptions, toResponseFields } from './parameters.ts'
import { countParts, upToPart } from './parts.ts'
import { findPlace, type Place, type PlaceServices } from './place.ts'
import { withoutReferences } from './references.ts'
import type { ResponseHead } from './response.ts'
import type { ResponseBody } from './schemas.ts'
import { partEchoOf, toEcho, withPart, type PartEcho } from './stored.ts'

export interface CreateServices extends ChatServices, OutputServices, PlaceServices, SealServices {
  echoes: Pick<EchoStore, 'replace'>
  openCalls: OutputServices['openCalls']
  runStore: PlaceServices['runStore']
}

/** A response that is being made. */
export interface OpenResponse {
  head: ResponseHead
  opening: Opening
}

/** Starts the run of a response, or resumes the run whose calls the request answers. Does not keep the body, which may have megabytes of images. */
export async function createResponse(services: CreateServices, exchange: Exchange, body: ResponseBody): Promise<OpenResponse> {
  const { request } = exchange
  const { config } = services.agent()
  refuseUnsupported(body, config)
  refuseOtherModel(body.model, config)
  const inputItems = toInputItems(body)
  const items = toItems(inputItems)
  const fields = toResponseFields(body)
  const echo = { created: Math.floor(Date.now() / 1000), fields, input: storedInput(inputItems) }
  refuseLong(echo, config.limits.max_input_characters)
  const resumed = await resume(services, exchange, items, echo)
  if (resumed) return resumed
  const principal = principalOf(request)
  const place = await findPlace(services, request, principal, fields)
  const unstored = unstoredOf(request, fields)
  const source = toSource(services, body, await withoutReferences(services, principal, await openCompactions(services, principal, items)), {
    place,
    echo,
    unstored,
  })
  refuseOtherSession(request, source)
  const head = headOf(request.id, wholeRun, echo)
  if (fields.background) return { head, opening: acceptChat(services, exchange, source, place) }
  const operation = body.stream === true ? 'chain_streaming' : 'chain'
  const start = (chatSource: ChatSource) => openChat(services, { ...exchange, operation, source: chatSource })
  return { head, opening: openInPlace(source, place, start) }
}

function headOf(requestId: string, part: RunPart, { created, fields }: PartEcho): ResponseHead {
  return { key: { requestId, part: countParts(part.before) }, part, created, fields }
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

/**
 * Gives the outputs at the end of a request to the caller's run that waits for them. The run goes on, and its next part is the response of the
 * request, whose parameters are stored with the run. The same outputs once more find the same part. Undefined where no run of this route waits: then
 * the outputs are history.
 */
async function resume(
  services: CreateServices,
  exchange: Exchange,
  items: readonly Item[],
  echo: PartEcho,
): Promise<OpenResponse | undefined> {
  const outputs = finalOutputs(items).map(({ callId, output }) => ({ callId: toToolCallId(callId), output }))
  if (outputs.length === 0) return undefined
  const answered = await answerRun(services, principalOf(exchange.request), {
    outputs,
    at: ['body', 'input'],
    toId: toCallId,
    accepts: (run) => partEchoOf(run, 1) !== undefined,
    prepare: async (run, before) => {
      const { request } = run
      const withEcho = withPart(run, countParts(before), echo)
      if (run.status === 'interrupted' && request && withEcho) await services.echoes.replace({ ...run, request }, withEcho)
    },
  })
  if (!answered) return undefined
  const head = headOf(answered.key.requestId, answered.part, echo)
  const { chat } = openAnswered(services, exchange, answered)
  return { head, opening: { chat: chat.then((open): OpenChat => ({ ...open, run: upToPart(open.run, head.key.part) })) } }
}

/** A session that the caller names is kept, without the run. */
function unstoredOf({ headers }: FastifyRequest, { store, conversation }: PartEcho['fields']): Unstored | undefined {
  if (store) return undefined
  return conversation || headers['session-id'] !== undefined ? 'run' : 'session'
}

interface SourceContext {
  place: Place
  echo: PartEcho
  unstored: Unstored | undefined
}

function toSource(
  { agent }: CreateServices,
  body: ResponseBody,
  items: readonly Item[],
  { place, echo, unstored }: SourceContext,
): ChatSource {
  const { messages, images, sentFiles, continuation } = toResponseChat(items)
  const { body: options, ...rest } = toChatOptions(body, agent().config.llms)
  return {
    body: {
      messages: [],
      ...options,
      ...(images.length > 0 && { images }),
      ...(place.sessionId !== undefined && { session_id: place.sessionId }),
    },
    at: ['body'],
    messages,
    sentFiles,
    continuation,
    ...rest,
    instructions: toInstructions(body.instructions, body.text?.verbosity),
    echo: toEcho(echo),
    afterMessages: place.afterMessages,
    unstored,
    hasShortWait: body.background !== true,
  }
}

function refuseOtherSession({ headers }: FastifyRequest, { body }: ChatSource): void {
  const named = headers['session-id']
  if (named === undefined || typeof body.session_id !== 'string' || named === body.session_id) return
  throw new ServiceError('validation', 'The header session-id names another session than the conversation of the request.', {
    faults: [{ loc: ['header', 'session-id'], msg: 'names another session than the conversation of the request', type: 'value_error' }],
  })
}

/** Starts a chat in its session, or in a branch of the session where another request has been faster. */
async function startInPlace<T>(source: ChatSource, { fork }: Place, start: (source: ChatSource) => Promise<T>): Promise<T> {
  if (!fork) return start(source)
  try {
    return await start(source)
  } catch (error) {
    if (!(error instanceof SessionMoved)) throw error
    return start({ ...source, body: { ...source.body, session_id: await fork() } })
  }
}

function openInPlace(source: ChatSource, place: Place, openSource: (source: ChatSource) => Opening): Opening {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  const start = (chatSource: ChatSource) => {
    const opening = openSource(chatSource)
    if (opening.settled) void opening.settled.then(settle)
    else settle()
    return opening.chat
  }
  return { chat: startInPlace(source, place, start), settled }
}

/** Accepts a background response as an async run, which any process executes. */
function acceptChat(services: CreateServices, exchange: Exchange, source: ChatSource, place: Place): Opening {
  const { request, reply } = exchange
  const principal = principalOf(request)
  const { tenant, owner } = principal
  const accept = async (chatSource: ChatSource): Promise<void> => {
    const chat = toNewChat(services.agent, request, 'chain_async', chatSource)
    const event = { source: '/v1/responses', id: request.id, callbackUrl: undefined }
    const { sessionId } = await services.runs.accept(principal, event, () => chat)
    setSessionId(request, reply, sessionId)
    const run = await services.runStore.find({ tenant, owner, requestId: request.id })
    if (run?.bodyHash !== chat.bodyHash)
      throw new ServiceError('request_id_reused', `The request id ${request.id} was used for another request.`)
  }
  const open = async (disconnected: AbortSignal): Promise<OpenRun> => {
    await startInPlace(source, place, accept)
    return services.runs.follow({ tenant, owner, requestId: request.id }, disconnected)
  }
  return { chat: openForReply(services, exchange, open) }
}
