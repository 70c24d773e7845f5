import { route, replies, ErrorReply, ValidationReply, orNull, namedObject, toIso } from '../schemas/shared.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { ConsoleSessions, OpenedSession } from '../../access/console/console-sessions.ts'
import type { IdentityProvider } from '../../access/console/identity-provider.ts'
import type { Principal } from '../../access/permissions.ts'
import type { Verifier } from '../../access/verify.ts'
import { invalid, ServiceError } from '../../errors.ts'
import { principalOf, tokenOf } from '../server/authenticate.ts'
import {
  clearCookie,
  cookieOf,
  setCookie,
  hasKeyHeader,
  refuseForeignPage,
  refuseForeignSignIn,
  refuseWithoutToken,
} from '../server/console-cookie.ts'

/** How users may sign in at the console. */
const SignInOptions = namedObject('SignInOptions', 'How users may sign in at the console. A key or a code is always possible.', {
  identity_provider: orNull(
    Type.Object({
      authorize_url: Type.String({
        description:
          'Where the code flow begins. May have a query; the page adds `response_type=code`, `client_id`, `redirect_uri`, `scope`, `state`, `code_challenge` and `code_challenge_method=S256`.',
      }),
      client_id: Type.String(),
      scope: Type.String(),
    }),
  ),
  is_provider_away: Type.Boolean({ description: 'True when the identity provider cannot be reached at the moment.' }),
})

const maxKeyCharacters = 16_384

const SignIn = Type.Object(
  {
    code: Type.Optional(
      Type.String({ maxLength: 200, description: 'A one-time code of `POST /console/code`, or of `agent-core console`.' }),
    ),
    key: Type.Optional(Type.String({ maxLength: maxKeyCharacters, description: 'An access key, or a token of the identity provider.' })),
    authorization_code: Type.Optional(Type.String({ maxLength: 4096, description: 'The code of the identity provider.' })),
    code_verifier: Type.Optional(Type.String({ maxLength: 128, description: 'The PKCE verifier with which the sign-in began.' })),
    redirect_uri: Type.Optional(Type.String({ maxLength: 2048, description: 'The address to which the identity provider sent the user.' })),
  },
  {
    additionalProperties: false,
    description: 'One of `code`, `key`, and `authorization_code` with `code_verifier` and `redirect_uri`.',
  },
)

const Opened = Type.Object({
  expires_at: Type.String({ format: 'date-time', description: 'The end of the session: the expiry of its key.' }),
})

const Code = Type.Object({
  code: Type.String({ description: 'For `<address>/console/sign-in#code=<code>`. Works once.' }),
  expires_at: Type.String({ format: 'date-time', description: 'A minute from now.' }),
})

interface ConsoleSessionOptions {
  consoleSessions: ConsoleSessions
  /** Undefined: users do not sign in at an identity provider. */
  identityProvider: IdentityProvider | undefined
  verifier: Pick<Verifier, 'verify'>
  /** Epoch milliseconds. */
  now(): number
}

const tag = 'Console'

/** Sign-in and sign-out of the console. */
export const consoleSessionRoutes = [optionsRoute, codeRoute, signInRoute, signOutRoute] as const

function optionsRoute(app: App, { identityProvider }: ConsoleSessionOptions): void {
  app.get(
    '/console/sign-in-options',
    route('public', tag, {
      summary: 'How users may sign in at the console',
      description: 'Public: the page asks before anybody has signed in.',
      text: 'Meant for the page of the console. `identity_provider` is null unless the service has one for the console.',
      response: { 200: SignInOptions, 500: ErrorReply },
    }),
    async (_request, reply) => {
      void reply.header('cache-control', 'no-store')
      const provider = await identityProvider?.options().catch(() => undefined)
      return {
        identity_provider: provider ? { authorize_url: provider.authorizeUrl, client_id: provider.clientId, scope: provider.scope } : null,
        is_provider_away: identityProvider !== undefined && provider === undefined,
      }
    },
  )
}

function codeRoute(app: App, { consoleSessions }: ConsoleSessionOptions): void {
  app.post(
    '/console/code',
    route('any_key', tag, {
      summary: 'Make a one-time code that opens the console with the rights of the key',
      description: 'For a link to the console that carries no key. The code works once, within a minute. A key may have 10 unused codes.',
      text: 'Open `<address>/console/sign-in#code=<code>` in a browser. `agent-core console` does the same on the command line.',
      response: replies({ 201: Code }),
    }),
    async (request, reply) => {
      const { code, expiresAt } = await consoleSessions.createCode(principalOf(request), tokenOf(request))
      return reply
        .code(201)
        .header('cache-control', 'no-store')
        .send({ code, expires_at: toIso(expiresAt) })
    },
  )
}

function signInRoute(app: App, options: ConsoleSessionOptions): void {
  app.post(
    '/console/session',
    {
      ...route('public', tag, {
        summary: 'Sign in at the console',
        description:
          'Sets a cookie that counts for `/core/v1` and for this route, from the page of the console only. The session ends with its key. An existing session of the browser is replaced. A page of another origin is 403.',
        text: 'Meant for the page of the console; programs send their key with each request. 401: the code or key is not valid, or the code was used before. 422: the body has none or several of the credentials.',
        examples: {
          code: { summary: 'A code of `POST /console/code`', value: { code: 'Yk3vQm5Yp0y2m1xk' } },
        },
        body: SignIn,
        response: { 201: Opened, 401: ErrorReply, 403: ErrorReply, 422: ValidationReply, 500: ErrorReply, 503: ErrorReply },
      }),
      bodyLimit: 64 * 1024,
      onRequest: async (request) => {
        const refusal = refuseForeignSignIn(request)
        if (refusal) throw refusal
      },
    },
    async (request, reply) => {
      const { value, principal } = await open(request.body, cookieOf(request), options).catch((error: unknown) => {
        if (error instanceof ServiceError && error.code === 'unauthorized') app.denials.countSignIn()
        throw error
      })
      setCookie(request, reply, value, principal.expiresAt - options.now())
      const { tenant, sub, keyId } = principal
      request.log.info({ tenant, sub, keyId }, 'A session of the console began')
      return reply
        .code(201)
        .header('cache-control', 'no-store')
        .send({ expires_at: toIso(principal.expiresAt) })
    },
  )
}

function signOutRoute(app: App, { consoleSessions }: ConsoleSessionOptions): void {
  app.delete(
    '/console/session',
    route('public', tag, {
      summary: 'Sign out of the console',
      description:
        "Ends the session of the cookie on the server, and clears the cookie. Needs `x-csrf-token`, as every change of the console's page does.",
      text: 'Meant for the page of the console. 401: the request has no session. 403: the token is absent or wrong.',
      response: {
        204: Type.Null({ description: 'The session has ended.' }),
        401: ErrorReply,
        403: ErrorReply,
        500: ErrorReply,
        503: ErrorReply,
      },
    }),
    async (request, reply) => signOut(request, reply, consoleSessions),
  )
}

type SignIn = Type.Static<typeof SignIn>

/** Opens a session by whichever credential the body has. Throws `validation` unless there is exactly one. */
async function open(body: SignIn, replaced: string | undefined, options: ConsoleSessionOptions): Promise<OpenedSession> {
  const { code, key, authorization_code: authorizationCode, code_verifier: codeVerifier, redirect_uri: redirectUri } = body
  const given = [code, key, authorizationCode].filter((credential) => credential !== undefined)
  if (given.length !== 1) throw invalid(['body'], 'must have one of code, key and authorization_code')
  if (code !== undefined) return options.consoleSessions.openByCode(code, { replaced })
  if (key !== undefined) return options.consoleSessions.openByKey(await options.verifier.verify(key), key, { replaced, method: 'key' })
  if (codeVerifier === undefined) throw invalid(['body', 'code_verifier'], 'is required', 'missing')
  if (redirectUri === undefined) throw invalid(['body', 'redirect_uri'], 'is required', 'missing')
  if (!options.identityProvider) throw invalid(['body', 'authorization_code'], 'this service has no identity provider for the console')
  const tokens = await options.identityProvider.exchange({ authorizationCode: authorizationCode!, codeVerifier, redirectUri })
  const { principal, token } = await verifyFirst(tokens, options.verifier)
  return options.consoleSessions.openByKey(principal, token, { replaced, method: 'identity_provider' })
}

/** The first token that this service accepts: with some providers the access token is no JWT, or meant for another audience. */
async function verifyFirst(
  tokens: readonly string[],
  { verify }: Pick<Verifier, 'verify'>,
): Promise<{ principal: Principal; token: string }> {
  let failure: unknown
  for (const token of tokens) {
    try {
      return { principal: await verify(token), token }
    } catch (error) {
      failure ??= error
    }
  }
  throw failure
}

/** A cookie whose session has ended is cleared all the same. */
async function signOut(request: FastifyRequest, reply: FastifyReply, sessions: ConsoleSessions): Promise<FastifyReply> {
  const value = hasKeyHeader(request) ? undefined : cookieOf(request)
  if (value === undefined) throw new ServiceError('unauthorized', 'The request has no session of the console.')
  const foreign = refuseForeignPage(request)
  if (foreign) throw foreign
  const session = sessions.findCached(value) ?? (await sessions.find(value))
  const refusal = session && refuseWithoutToken(request, session)
  if (refusal) throw refusal
  await sessions.end(value)
  clearCookie(request, reply)
  return reply.code(204).send()
}
