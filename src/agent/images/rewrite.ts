import { parseJson } from '../../json/shape.ts'
import { ImageFilter } from './image-filter.ts'

/** A whole text without the pictures of foreign hosts. */
export function withoutPictures(text: string, hosts: readonly string[]): string {
  const filter = new ImageFilter(hosts)
  return filter.take(text) + filter.end()
}

/** Rewrites a reply that a program reads. `toText` takes the pictures out of a text in the reply. */
export type Rewrite = (reply: string, toText: (text: string) => string) => string

/** Rewrites the texts in a JSON value: escapes such as `\u0021` hide a picture from a filter of the JSON. */
export const rewriteJson: Rewrite = (reply, toText) => {
  if (parseJson(reply) === undefined) return reply
  return reply.replaceAll(/"(?:[^"\\]|\\.)*"/g, (literal) => {
    const text = JSON.parse(literal) as string
    const rewritten = toText(text)
    return rewritten === text ? literal : JSON.stringify(rewritten)
  })
}
