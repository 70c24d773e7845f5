/**
 * Marks behind one letter that are kept, as in Unicode's Stream-Safe Text Format (UAX #15): no script needs more. ICU puts the marks of a letter in order in
 * quadratic time, so that 40,000 of them would hold the event loop for seconds.
 */
const excess = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/** `text.normalize(form)` in linear time: marks beyond the 30th of a letter are left out. This is the one place that normalises a text. */
export function normaliseText(text: string, form: 'NFC' | 'NFD' | 'NFKD'): string {
  return text.replace(excess, '$1').normalize(form)
}
