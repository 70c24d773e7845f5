import { isOwnAddress, toText } from './addresses.ts'
import { PieceReader, type Mode } from './piece-reader.ts'

/** Elements that load a file when a client shows them. */
const loaders = new Set('img image feimage picture source video audio track embed object iframe frame input link script'.split(' '))
const maxName = 12

/** Replaces HTML tags that load a file of a foreign host by their text. */
export class TagFilter extends PieceReader {
  protected readonly special = /</g
  private readonly hosts: readonly string[]

  constructor(hosts: readonly string[]) {
    super()
    this.hosts = hosts
  }

  /** Accepts a piece, and returns the text without such tags. */
  take(piece: string): string {
    return this.read(piece)
  }

  /** Ends the text, and returns its rest. */
  end(): string {
    if (this.mode === this.tag) this.giveUp()
    this.mode = this.release(this.held)
    return this.flush()
  }

  protected readonly plain: Mode = (character) => {
    if (character === '<') return this.hold(character, this.name)
    this.emit(character)
    return this.plain
  }

  private readonly name: Mode = (character) => {
    if (/[a-z]/i.test(character) && this.held.length < maxName) return this.hold(character, this.name)
    const isLoader = /[\s/>]/.test(character) && loaders.has(this.held.slice(1).toLowerCase())
    return isLoader ? this.tag(character) : this.release(this.held)(character)
  }

  private readonly tag: Mode = (character) => {
    this.hold(character, this.tag)
    if (character !== '>') return this.tag
    return this.release(isHarmless(this.held, this.hosts) ? this.held : toText(altIn(this.held), this.last))
  }

  /** A tag without an end is text. */
  protected giveUp(): void {
    this.mode = this.release(this.held.replaceAll('<', '&lt;'))
  }

  protected mode: Mode = this.plain
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
