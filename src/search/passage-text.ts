import { createHash } from 'node:crypto'
import type { Passage } from './retriever.ts'

/** The text of a passage of which the vector is made. */
export function textToEmbed({ heading, text }: Pick<Passage, 'heading' | 'text'>, title: string): string {
  const headings = heading.split(' > ')
  const context = headings[0] === title ? headings : [title, ...headings]
  return [context.filter(Boolean).join(', '), text].filter(Boolean).join('. ')
}

/** Identifies a text wherever vectors are kept. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
