import { normaliseText } from '../../agent/normalise-text.ts'

/**
 * Widths of characters in thousandths of the font size, for Helvetica and metrically compatible fonts. Vega measures text with a canvas, which is
 * not available here, or assumes 0.8 of the font size per character, which drops labels with enough room.
 */

const groups: readonly [number, string][] = [
  [222, "ijl'|‘’"],
  [278, 'It!,./:;[]\\ fı·'],
  [333, '-()r`“”„'],
  [400, '*"{}°'],
  [500, 'ckszvxyJ‐‑'],
  [556, 'abdeghnopqu0123456789L$?_#€£–'],
  [600, '+<=>~^±×÷'],
  [611, 'FTZ'],
  [667, 'AEBKPSVXY&'],
  [722, 'CDHNRUw'],
  [778, 'GOQ'],
  [833, 'Mm'],
  [889, '%'],
  [944, 'W'],
  [1000, '@—…'],
]

const widths: ReadonlyMap<string, number> = new Map(
  groups.flatMap(([width, characters]) => characters.split('').map((character) => [character, width])),
)

/** Fonts of many systems are wider than Helvetica. A label cut too early is better than overlapping labels. */
const allowance = 1.08
const boldAllowance = 1.07

/** Approximate width of a text in pixels. */
export function textWidth(text: string, fontSize: number, isBold = false): number {
  let sum = 0
  for (const character of normaliseText(text, 'NFD')) sum += widths.get(character) ?? unknownWidth(character)
  return Math.ceil((sum / 1000) * fontSize * allowance * (isBold ? boldAllowance : 1))
}

function unknownWidth(character: string): number {
  if (/\p{M}/u.test(character)) return 0
  // Ideographs, kana, hangul and emoji are square.
  return /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Extended_Pictographic}/u.test(character) ? 1000 : 600
}
