import type { FastifyReply, FastifyRequest } from 'fastify'

/** A page of HTML with the headers of the page, including the policy. */
export interface RenderedPage {
  html: string
  headers: Record<string, string>
}

/** `strict-transport-security` is for the proxy that ends TLS to decide. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Over plain http, browsers name the page of a read in no other header.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

/** The answer to a browser where a page is not built. `message` is a text of this service. */
export function renderNotice(message: string): RenderedPage {
  const text = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const html = `<!doctype html>\n<html lang="en"><head><meta charset="utf-8" /><title>Agent Core</title></head><body><p>${text}</p></body></html>\n`
  return { html, headers: { ...pageHeaders, 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" } }
}

export function sendPage(reply: FastifyReply, { html, headers }: RenderedPage): FastifyReply {
  return reply.headers(headers).serializer(String).send(html)
}

/** Leads a browser to another address of this service. */
export function redirect(reply: FastifyReply, target: string): FastifyReply {
  return reply.header('cache-control', 'no-store').redirect(target, 302)
}

/** True for a client that asks for HTML. */
export function isBrowser({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('text/html')
}
