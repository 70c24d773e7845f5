import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { CommandFailure, type Terminal } from './terminal.ts'

/** Receives the answer of an authorization server. */
export interface LoginCallback {
  /** Address on the loopback interface to which the authorization server sends the browser. */
  redirectUrl: string
  /**
   * The query of the first redirect for which `isReply` is true, from the browser or pasted into the terminal. Other answers are refused, and
   * end nothing. Rejects when the command is asked to stop.
   */
  receive(isReply: (query: URLSearchParams) => boolean): Promise<URLSearchParams>
  close(): void
}

const path = '/callback'

const foreign = 'The answer belongs to another login. Use the address that this command has shown.'

/** Listens on 127.0.0.1 (RFC 8252, 7.3) for one answer. Port 0 is any free port. Throws `CommandFailure` when the port is taken. */
export async function openLoginCallback({ stdin, stderr, stopping }: Terminal, port: number): Promise<LoginCallback> {
  const { promise: reply, resolve, reject } = Promise.withResolvers<URLSearchParams>()
  // The reply may be rejected before it is awaited.
  reply.catch(() => undefined)
  let isExpected = (_query: URLSearchParams) => false
  const take = (query: URLSearchParams): boolean => {
    const isReply = isExpected(query)
    if (isReply) resolve(query)
    return isReply
  }
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const isAnswer = url.pathname === path && hasAnswer(url.searchParams)
    const isTaken = isAnswer && take(url.searchParams)
    const text = isTaken ? 'The answer has arrived. Go back to the terminal.' : isAnswer ? foreign : 'There is nothing here.'
    response.writeHead(isTaken ? 200 : isAnswer ? 400 : 404, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(`${text}\n`)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(1, [`Port ${port} of 127.0.0.1 cannot be used (${error.code}). Choose another with --port.`])
  })
  const lines = createInterface({ input: stdin })
  lines.on('line', (line) => {
    const query = queryOf(line)
    if (query && !take(query)) stderr.write(`${foreign}\n`)
  })
  const stop = () => reject(new CommandFailure(1, ['The login was cancelled.']))
  stopping.addEventListener('abort', stop, { once: true })
  return {
    redirectUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    receive(isReply) {
      isExpected = isReply
      return reply
    },
    close() {
      stopping.removeEventListener('abort', stop)
      lines.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The query of a pasted address; undefined for other text. */
function queryOf(line: string): URLSearchParams | undefined {
  const text = line.trim()
  const query = URL.canParse(text) ? new URL(text).searchParams : undefined
  return query && hasAnswer(query) ? query : undefined
}

function hasAnswer(query: URLSearchParams): boolean {
  return query.has('code') || query.has('error')
}
