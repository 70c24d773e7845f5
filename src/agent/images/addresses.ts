import { isListed } from '../containment.ts'

/** Characters of an address that are held back. A longer address is foreign, unless the address holds the picture itself. */
export const maxAddress = 2048
/** Characters of the text that stands for a picture. */
const maxText = 500

/**
 * True for an address that a client resolves to the service itself, or to a host of the list. Clients disagree on addresses that begin
 * with entities, backslashes or white space, so such an address is foreign.
 */
export function isOwnAddress(address: string, hosts: readonly string[]): boolean {
  if (/^data:image\//i.test(address)) return true
  if (/^(?:https?:)?\/\/[\w.:[\]-]+(?:[/?#]|$)/i.test(address))
    return isListed(address.startsWith('/') ? `https:${address}` : address, hosts)
  // A path, which has neither scheme nor host.
  return /^[\p{L}\p{N}_.~% ()+,@=-]*(?:$|[?#]|\/(?![/\\&\s]))/u.test(address)
}

/**
 * The text that stands for a picture. The text and its surroundings never make another picture, tag or address. `before` is the character
 * before the picture.
 */
export function toText(alt: string, before: string): string {
  const text = alt
    .slice(0, maxText)
    .toWellFormed()
    .replace(/[[\]<>`"\\&]/g, '')
    .replace(/(?<=\p{L}):(?=\S)/gu, ' ')
    .replace(/\/{2,}/g, '/')
    .replace(/\s+/g, ' ')
    .trim()
  const gap = before === '' || /[\s"'([*_|>]/.test(before) ? '' : ' '
  return gap + (text === '' ? 'image' : text) + (text.endsWith('!') ? ' ' : '')
}
