/** Nonce of this response: the content security policy permits style elements that carry it. */
export const styleNonce = document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? ''

// Mantine's dialogs lock scrolling with `react-remove-scroll`, which reads the nonce of its style element from this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce })
