import { isOwnAddress, maxAddress, toText } from './addresses.ts'
import { PieceReader, type Mode } from './piece-reader.ts'
import { TagFilter } from './tag-filter.ts'

interface Opener {
  /** Place in the held text. */
  at: number
  isImage: boolean
  /** True for the bracket of a picture, and for each bracket in its text. */
  isInImage: boolean
}

/** Code, tags, escapes, formulas and expressions may hide brackets from a client. */
const hiding = '`<>\\${'
const plainAddress = /^[\p{L}\p{N}\w/.~%?=&#:+,;@() -]*$/u

/**
 * Replaces the pictures of foreign hosts in Markdown by their text, while the Markdown arrives in pieces. At most `maxHeld` characters are
 * held back, from the beginning of a picture to its end.
 *
 * Clients read Markdown in different ways. Where a text has several readings, each address that may be of a picture is dropped.
 */
export class ImageFilter extends PieceReader {
  /** The text without pictures. */
  text = ''
  protected readonly special = /[![\]\n]/g
  private readonly hosts: readonly string[]
  private readonly tags: TagFilter
  /** The open brackets in the held text. */
  private openers: Opener[] = []
  /** The bracket that the last `]` has closed. */
  private closing: Opener | undefined
  private closedAt = 0
  private addressAt = 0
  private isDefinition = false
  /** Open parentheses in an address. */
  private depth = 0
  private titleEnd = ''
  /** True when the held text may hide brackets. */
  private isUnclear = false
  /** True when the block has a picture whose end is unclear. */
  private mayBeOpen = false
  /** True when the text has had a picture by reference. */
  private hasReference = false
  private hasForeignDefinition = false
  private isLineBlank = true
  private isLineStart = false

  /** `earlier`: texts that a client may show before the text, with their definitions and references. */
  constructor(hosts: readonly string[], earlier: readonly string[] = []) {
    super()
    this.hosts = hosts
    this.tags = new TagFilter(hosts)
    this.hasReference = earlier.some((text) => text.includes('!['))
    this.hasForeignDefinition = earlier.some((text) => text.includes(']:'))
  }

  /** Accepts a piece, and returns what may be shown; empty while that is open. */
  take(piece: string): string {
    return this.add(this.read(this.tags.take(piece)))
  }

  /** Ends the text, and returns its rest. */
  end(): string {
    const text = this.read(this.tags.end())
    this.endBlock()
    return this.add(text + this.flush())
  }

  private add(text: string): string {
    this.text += text
    return text
  }

  protected override skipped(text: string): void {
    if (/[^ \t\r]/.test(text)) this.isLineBlank = false
  }

  protected override step(character: string): void {
    if (character === '\n' && this.isLineBlank) this.endBlock()
    this.isLineStart = this.isLineBlank
    this.isLineBlank = character === '\n' || (this.isLineBlank && ' \t\r'.includes(character))
    super.step(character)
  }

  protected readonly plain: Mode = (character) => {
    if (character === '!') return this.hold(character, this.bang)
    if (character === ']') return this.close(character)
    // A definition begins with a line.
    if (character === '[' && this.isLineStart && this.hasReference) return this.open(character, false)
    this.emit(character)
    return this.plain
  }

  private readonly bang: Mode = (character) => {
    return character === '[' ? this.open(character, true) : this.again(character)
  }

  /** In the text of a picture. */
  private readonly alt: Mode = (character) => {
    if (character === '!') return this.hold(character, this.bang)
    if (character === ']') return this.close(character)
    if (character === '[') return this.open(character, false)
    if (hiding.includes(character)) this.isUnclear = true
    return this.hold(character, character === '\\' ? this.escaped : this.alt)
  }

  private readonly escaped: Mode = (character) => this.hold(character, this.alt)

  private open(character: string, isImage: boolean): Mode {
    const isInImage = isImage || this.openers.at(-1)?.isInImage === true
    this.openers.push({ at: this.held.length - (isImage ? 1 : 0), isImage, isInImage })
    return this.hold(character, this.alt)
  }

  private close(character: string): Mode {
    this.closing = this.openers.pop()
    this.closedAt = this.held.length
    return this.hold(character, this.closed)
  }

  /** Behind a `]`. */
  private readonly closed: Mode = (character) => {
    const isImage = this.closing?.isImage === true
    const mayBeImage = this.closing?.isInImage === true || this.mayBeOpen
    if (character === '[' && isImage) return this.hold(character, this.label)
    if ((character !== '(' || !mayBeImage) && (character !== ':' || isImage)) return this.again(character)
    this.isDefinition = character === ':'
    this.hold(character, this.gap)
    this.addressAt = this.held.length
    return this.gap
  }

  /** In the label of `![text][label]`. */
  private readonly label: Mode = (character) => {
    if (character === ']') {
      this.hasReference = true
      this.replace(this.held.length)
      return this.settle()
    }
    if (character !== '[' && character !== '!') return this.hold(character, this.label)
    // The label is text with an open bracket.
    if (this.openers.length > 0) this.openers.push({ ...this.openers.at(-1)!, isImage: false })
    return this.again(character)
  }

  /** Before an address. */
  private readonly gap: Mode = (character) => {
    this.depth = 0
    const next = character === '<' ? this.angle : /[\s>]/.test(character) ? this.gap : this.address
    if (next === this.address) return this.address(character)
    this.hold(character, next)
    this.addressAt = this.held.length
    return next
  }

  private readonly address: Mode = (character) => {
    const isEnd = this.isDefinition ? !plainAddress.test(character) : character === ')' && this.depth === 0
    if (isEnd || /\s/.test(character)) return this.decide(character)(character)
    if (character === '(') this.depth++
    if (character === ')') this.depth--
    this.hold(character, this.address)
    return this.held.length - this.addressAt < maxAddress ? this.address : this.decide()
  }

  /** In an address in angle brackets. */
  private readonly angle: Mode = (character) => {
    const isEnd = '>\n<'.includes(character) || (this.isDefinition && !plainAddress.test(character))
    return isEnd ? this.decide(character)(character) : this.hold(character, this.angle)
  }

  /** Judges the address. `end` is the character behind, empty for an address that goes on. */
  private decide(end = ''): Mode {
    const address = this.held.slice(this.addressAt)
    const isData = end === '' && /^data:/i.test(address)
    const isOwn = (end !== '' || isData) && plainAddress.test(address) && isOwnAddress(address, this.hosts)
    if (this.isDefinition) return this.endDefinition(isOwn, end)
    if (isOwn) return isData ? this.endData() : this.behind
    if (this.closing?.isImage) this.replace(this.held.length)
    else this.held = this.held.slice(0, this.closedAt + 1)
    return end === '' ? this.dropAddress : this.drop
  }

  private endDefinition(isOwn: boolean, end: string): Mode {
    this.hasForeignDefinition ||= !isOwn
    const [before, behind] = [this.held.slice(0, this.closedAt + 1), this.held.slice(this.closedAt + 1)]
    if (!isOwn && this.hasReference) {
      // A definition with its line goes; the rest of another text stays, and is no definition.
      this.held = this.closing && !this.closing.isInImage ? this.held.slice(0, this.closing.at) : `${before} :`
      return end === '' ? this.dropAddress : this.settle()
    }
    // The text of a picture behind could complete the address.
    if (end === '!') this.held = `${before} ${behind}`
    return this.settle()
  }

  /** Behind an own address. */
  private readonly behind: Mode = (character) => {
    if (/[\s>]/.test(character)) return this.hold(character, this.behind)
    if (character === ')') {
      this.hold(character, this.behind)
      return this.settle()
    }
    this.titleEnd = character
    if (character === '"' || character === "'") return this.hold(character, this.title)
    this.isUnclear = true
    this.endReference()
    return this.settle()(character)
  }

  private readonly title: Mode = (character) => {
    if (character === this.titleEnd) return this.hold(character, this.behind)
    if (!hiding.includes(character) && !'![]'.includes(character)) return this.hold(character, this.title)
    this.isUnclear = true
    this.endReference()
    return this.settle()(character)
  }

  /** Behind a foreign address, which is dropped with its title. */
  private readonly drop: Mode = (character) => {
    if (/[\s>]/.test(character)) return this.drop
    if (character === ')') return this.settle()
    this.titleEnd = character === '(' ? ')' : character
    if ('"\'('.includes(character)) return this.dropTitle
    this.held += ' '
    return this.settle()(character)
  }

  private readonly dropTitle: Mode = (character) =>
    character === '\\' ? () => this.dropTitle : character === this.titleEnd ? this.drop : this.dropTitle

  private readonly dropAddress: Mode = (character) => {
    if (/\s/.test(character)) return this.isDefinition ? this.settle()(character) : this.drop
    if (character === ')' && this.depth-- === 0) return this.settle()
    if (character === '(') this.depth++
    return this.dropAddress
  }

  /** Puts its text in the place of a picture, and keeps the held text from `end` on. */
  private replace(end: number): void {
    const { at } = this.closing!
    const alt = this.held.slice(at, this.closedAt).replace(/^!?\[/, '')
    this.held = this.held.slice(0, at) + toText(alt, at > 0 ? this.held[at - 1]! : this.last) + this.held.slice(end)
  }

  /** The bytes of a picture are too many to be held. */
  private endData(): Mode {
    this.endReference()
    return this.settle()
  }

  /** A `]` without a whole address behind, which may refer to a definition. */
  private endReference(): void {
    if (!this.closing?.isImage) return
    if (this.hasForeignDefinition) this.replace(this.closedAt + 1)
    else this.hasReference = true
  }

  /** Ends what has begun, and reads the character again. */
  private again(character: string): Mode {
    if (this.mode === this.closed || this.mode === this.label) this.endReference()
    return this.settle()(character)
  }

  /** Goes on with the text of the picture around, or releases the held text. */
  private settle(): Mode {
    if (this.openers.length > 0) return this.alt
    this.mayBeOpen ||= this.isUnclear
    this.isUnclear = false
    return this.release(this.held)
  }

  /** A blank line, and the end, end every picture. */
  private endBlock(): void {
    this.endAddress('\n')
    this.openers = []
    this.mode = this.settle()
    this.mayBeOpen = false
  }

  protected giveUp(): void {
    this.endAddress('')
    this.openers = []
    const next = this.settle()
    if (this.mode !== this.drop && this.mode !== this.dropAddress) this.mode = next
    this.hasReference = true
    this.mayBeOpen = true
  }

  private endAddress(end: string): void {
    const { mode } = this
    if (mode === this.gap || mode === this.address || mode === this.angle) this.mode = this.decide(end)
    if ([this.closed, this.label, this.behind, this.title].includes(this.mode)) this.endReference()
  }

  protected mode: Mode = this.plain
}
