import { hash } from 'node:crypto'
import { parseCookie, stringifySetCookie, type SetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { originOf } from '../server/origin.ts'
import { prefixOf } from '../server/prefix.ts'

/** Browsers keep no cookie longer. Later sessions get a new cookie at the next sign-in. */
const maxAgeSeconds = 400 * 86_400

/**
 * Name and scope of the console's cookie. Browsers accept the names with `__Host-` and `__Secure-` only from this host over https, so that no
 * sibling host can plant one. Cookies do not part ports, hence the hash in the name over http.
 */
export function cookieScope(request: FastifyRequest): Required<Pick<SetCookie, 'name' | 'path' | 'secure'>> {
  const [origin, prefix] = [originOf(request), prefixOf(request)]
  const path = `${prefix}/`
  if (origin.startsWith('https:')) return { name: prefix === '' ? '__Host-agent_core' : '__Secure-agent_core', path, secure: true }
  return { name: `agent_core_${hash('sha256', origin + prefix, 'hex').slice(0, 8)}`, path, secure: false }
}

/** The value of the console's cookie; undefined without one. */
export function cookieOf(request: FastifyRequest): string | undefined {
  const { cookie } = request.headers
  return cookie === undefined ? undefined : parseCookie(cookie)[cookieScope(request).name]
}

export function setCookie(request: FastifyRequest, reply: FastifyReply, value: string, lifeMs: number): void {
  const maxAge = Math.min(Math.floor(lifeMs / 1000), maxAgeSeconds)
  void reply.header('set-cookie', stringifySetCookie({ ...cookieScope(request), ...guarded, value, maxAge }))
}

export function clearCookie(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header('set-cookie', stringifySetCookie({ ...cookieScope(request), ...guarded, value: '', maxAge: 0 }))
}

/** Scripts cannot read the cookie, and requests from other sites do not carry it. */
const guarded = { httpOnly: true, sameSite: 'strict' } as const
