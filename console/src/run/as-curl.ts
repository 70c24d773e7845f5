import type { RunSummary } from '../runs/queries.ts'

interface CurlOptions {
  /** Address of the service, with a trailing slash or without. */
  address: string
  question: string
  operation: RunSummary['operation']
}

/** The question as a command for a shell. The key is read from `ACCESS_KEY`, so that none stands in the history. */
export function toCurl({ address, question, operation }: CurlOptions): string {
  const isStream = operation === 'chain_streaming'
  const url = `${address.replace(/\/+$/, '')}/core/v1/${isStream ? 'chain_streaming' : 'chain'}`
  const body = JSON.stringify({ messages: [{ role: 'user', content: question }] })
  return [
    `curl ${isStream ? '-N' : '-s'} ${quote(url)}`,
    `-H "x-service-access: $ACCESS_KEY"`,
    `-H 'content-type: application/json'`,
    `-d ${quote(body)}`,
  ].join(' \\\n  ')
}

/** A text as one word of a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
