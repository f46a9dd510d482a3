/** Below the path of the board. */
export const LABELS_PATH = '/herald-labels.js'

/** Bull Board's buttons with an icon only, with their names in English and Chinese. */
const labels = {
  'button:has(.rds-b1)': ['Datastore', '数据存储'],
  'button:has(.lucide-maximize)': ['Full screen', '全屏'],
  'button:has(.lucide-settings)': ['Settings', '设置'],
  'button:has(.lucide-circle-user)': ['Links', '链接'],
  'button:has(.lucide-ellipsis-vertical)': ['Actions', '操作'],
  'button[class*="copyBtn"]': ['Copy', '复制'],
}

/**
 * Names those buttons for screen readers and as a tooltip: the board itself does not. An update of Bull Board may change the icons; the browser
 * spec of the console fails then.
 */
export const labelScript = `const labels = ${JSON.stringify(labels)}
const place = navigator.language.toLowerCase().startsWith('zh') ? 1 : 0
const hasText = (button) => [...button.childNodes].some((part) => part.nodeName !== 'svg' && part.textContent.trim() !== '')
const name = () => {
  for (const [selector, names] of Object.entries(labels))
    for (const button of document.querySelectorAll(selector + ':not([aria-label])')) {
      if (hasText(button)) continue
      button.setAttribute('aria-label', names[place])
      button.title = names[place]
    }
  for (const picture of document.querySelectorAll('svg[role=img]:not([aria-hidden])')) picture.setAttribute('aria-hidden', 'true')
}
new MutationObserver(name).observe(document.documentElement, { childList: true, subtree: true })
name()
`

/** Bull Board's hint of a key, its selected queue and the small texts of a job have too little contrast. */
export const labelStyle =
  'kbd[class],[class*="active-"]>[class*="queueName-"],li small{color:var(--foreground)}'
