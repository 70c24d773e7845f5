import type { Principal } from '../../../../access/permissions.ts'
import { invalid } from '../../../../errors.ts'
import type { Item } from './input.ts'

/** Encrypts a text under a name, so that only this service opens the text, and only under the same name. */
export interface ContentBox {
  seal(name: string, text: string): string
  open(name: string, sealed: string): string
}

/** The box is made with its first use. */
export interface SealServices {
  contentBox(): Promise<ContentBox>
}

const opening = 'Summary of the conversation so far:\n'

function nameOf({ tenant, owner }: Principal): string {
  return `compaction of ${JSON.stringify([tenant, owner])}`
}

export async function sealCompaction({ contentBox }: SealServices, principal: Principal, summary: string): Promise<string> {
  return (await contentBox()).seal(nameOf(principal), summary)
}

/** Replaces compactions of the caller by messages with their summaries. */
export async function openCompactions({ contentBox }: SealServices, principal: Principal, items: readonly Item[]): Promise<Item[]> {
  if (items.every(({ type }) => type !== 'compaction')) return [...items]
  const box = await contentBox()
  return items.map((item): Item => {
    if (item.type !== 'compaction') return item
    const { at, sealed } = item
    try {
      return { type: 'message', at, message: { role: 'assistant', content: opening + box.open(nameOf(principal), sealed) } }
    } catch {
      throw invalid([...at, 'encrypted_content'], 'is not a compaction that this service has made for this caller')
    }
  })
}
