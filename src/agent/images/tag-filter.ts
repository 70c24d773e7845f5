import { isOwnAddress, maxHeld, toText } from './addresses.ts'

/** Elements that load a file when a client shows them. */
const loaders = new Set('img image feimage picture source video audio track embed object iframe frame input link script'.split(' '))

/** Replaces HTML tags that load a file of a foreign host by their text. */
export class TagFilter {
  private readonly hosts: readonly string[]
  private mode: 'text' | 'name' | 'tag' = 'text'
  private held = ''
  private out = ''
  private last = ''

  constructor(hosts: readonly string[]) {
    this.hosts = hosts
  }

  /** Accepts a piece, and returns the text that is free of tags. */
  take(piece: string): string {
    for (let at = 0; at < piece.length; at++) {
      if (this.mode === 'text') {
        const next = piece.indexOf('<', at)
        this.emit(piece.slice(at, next < 0 ? undefined : next))
        if (next < 0) break
        at = next
      }
      this.step(piece[at]!)
    }
    return this.flush()
  }

  /** Ends the text, and returns its rest. */
  end(): string {
    this.release(this.mode === 'tag' ? escapeTags(this.held) : this.held)
    return this.flush()
  }

  private step(character: string): void {
    if (this.mode === 'text') this.begin(character)
    else if (this.mode === 'name') this.readName(character)
    else this.readTag(character)
  }

  private begin(character: string): void {
    if (character !== '<') return this.emit(character)
    this.held = character
    this.mode = 'name'
  }

  private readName(character: string): void {
    if (/[a-z]/i.test(character) && this.held.length < maxName) this.held += character
    else if (/[\s/>]/.test(character) && loaders.has(this.held.slice(1).toLowerCase())) {
      this.mode = 'tag'
      this.readTag(character)
    } else {
      this.release(this.held)
      this.begin(character)
    }
  }

  private readTag(character: string): void {
    this.held += character
    if (character === '>') this.release(isHarmless(this.held, this.hosts) ? this.held : toText(altIn(this.held), this.last))
    else if (this.held.length >= maxHeld) this.release(escapeTags(this.held))
  }

  private release(text: string): void {
    this.held = ''
    this.mode = 'text'
    this.emit(text)
  }

  private emit(text: string): void {
    if (text === '') return
    this.out += text
    this.last = text.at(-1)!
  }

  private flush(): string {
    const { out } = this
    this.out = ''
    return out
  }
}

const maxName = 12

/** A tag without an end is text. */
function escapeTags(text: string): string {
  return text.replaceAll('<', '&lt;')
}

const attribute = /\s(\w+)="([^"<>]*)"/g
const harmless = new Set(['alt', 'title', 'width', 'height', 'class', 'id', 'type', 'controls', 'loading'])

/** True for a tag of plain attributes with own addresses. */
function isHarmless(tag: string, hosts: readonly string[]): boolean {
  if (!/^<\w+\s?\/?>$/.test(tag.replace(attribute, ''))) return false
  return [...tag.matchAll(attribute)].every(([, name = '', value = '']) =>
    /^(src|href|poster|data)$/i.test(name) ? isOwnAddress(value, hosts) : harmless.has(name.toLowerCase()),
  )
}

function altIn(tag: string): string {
  const [, double, single, bare] = /\salt\s?=\s?(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(tag) ?? []
  return double ?? single ?? bare ?? ''
}
