export interface TokenClient {
  id: string
  secret: string
}

/** What else the request says: `scope`, `resource` (RFC 8707). Empty and absent ones are left out. */
export type TokenFields = Readonly<Record<string, string | undefined>>

/** The request for an access token by a client's own credentials (RFC 6749, 4.4): told in a header (2.3.1), or in the body. */
export function toTokenRequest({ id, secret }: TokenClient, fields: TokenFields, { isInBody }: { isInBody: boolean }) {
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  for (const [name, value] of Object.entries(fields)) if (value) body.set(name, value)
  if (isInBody) body.set('client_id', id)
  if (isInBody) body.set('client_secret', secret)
  const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'agent-core' }
  const authorization = `Basic ${btoa(`${encode(id)}:${encode(secret)}`)}`
  return { method: 'POST', headers: isInBody ? headers : { ...headers, authorization }, body: body.toString() }
}

/** RFC 6749, appendix B. A tilde stays as it is: it stands in many a secret, and not every server decodes. */
function encode(text: string): string {
  return encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}
