export interface TokenClient {
  id: string
  secret: string
}

/** Further fields of the request: `scope`, `resource` (RFC 8707). Empty and absent fields are omitted. */
export type TokenFields = Readonly<Record<string, string | undefined>>

/** A token request with the client credentials grant (RFC 6749, 4.4). The credentials are sent in a header (2.3.1) or in the body. */
export function toTokenRequest({ id, secret }: TokenClient, fields: TokenFields, { isInBody }: { isInBody: boolean }) {
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  for (const [name, value] of Object.entries(fields)) if (value) body.set(name, value)
  if (isInBody) body.set('client_id', id)
  if (isInBody) body.set('client_secret', secret)
  const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'agent-core' }
  const authorization = `Basic ${btoa(`${encode(id)}:${encode(secret)}`)}`
  return { method: 'POST', headers: isInBody ? headers : { ...headers, authorization }, body: body.toString() }
}

/** Form encoding of RFC 6749, appendix B. The tilde is not encoded: many secrets contain a tilde, and some servers do not decode. */
function encode(text: string): string {
  return encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}
