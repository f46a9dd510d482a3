import { connectDevice } from './device.ts'

const find = (id) => document.getElementById(id)
const query = new URLSearchParams(location.search)
let device

find('app_id').value = query.get('app_id') ?? ''
find('token').value = query.get('push_token') ?? ''
find('form').addEventListener('submit', (event) => {
  event.preventDefault()
  connect().catch((error) => show(error.message))
})
find('away').addEventListener('change', applyAway)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) setBadge(0)
})
if (find('app_id').value || find('token').value) connect().catch((error) => show(error.message))

async function connect() {
  device?.close()
  const pushToken = find('token').value.trim() || (await register())
  find('token').value = pushToken
  showCurl(pushToken)
  device = connectDevice({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/native`,
    pushToken,
    storage: localStorage,
    onState: show,
    onBadge: (badge) => setBadge(document.hidden ? badge : 0),
    onMessage: showMessage,
  })
  applyAway()
  setBadge(0)
}

/** A page has no vendor, so it is away only if asked: messages pushed until it is back wait. */
function applyAway() {
  if (find('away').checked) device?.away()
  else device?.here()
}

/** Registers a device without a user. Its guid and push token are kept in this browser. */
async function register() {
  const appId = find('app_id').value.trim()
  if (!appId) throw new Error('Enter an app_id or a push token.')
  const key = `herald.demo.${appId}`
  const known = JSON.parse(localStorage.getItem(key) ?? '{}')
  const send = async (device) => {
    const answer = await fetch('/push/register', {
      method: 'POST',
      headers: { app_id: appId, 'content-type': 'application/json' },
      body: JSON.stringify(device),
    })
    const { code, data, message } = await answer.json()
    if (code === 200) localStorage.setItem(key, JSON.stringify({ ...device, ...data }))
    return { code, data, message }
  }
  const fresh = () => send({ device_guid: crypto.randomUUID() })
  let answer = known.device_guid ? await send(known) : await fresh()
  // The push token was replaced: this page becomes another device.
  if (answer.code === 40901) answer = await fresh()
  if (answer.code !== 200) throw new Error(answer.message)
  return answer.data.push_token
}

function show(state) {
  find('state').textContent = state
}

function setBadge(badge) {
  device?.setBadge(badge)
  find('badge').textContent = badge > 0 ? String(badge) : ''
}

function showMessage({ taskId, message }) {
  const earlier = message.recalls ?? message.replaces
  if (earlier) document.querySelector(`[data-task="${Number(earlier)}"]`)?.remove()
  if (message.recalls) return
  const card = document.createElement('article')
  card.dataset.task = String(taskId)
  const add = (name, text) => {
    if (!text) return
    const part = document.createElement(name)
    part.textContent = text
    card.append(part)
  }
  add('h2', message.title)
  add('p', message.big_text ?? message.body)
  if (message.type === 'image' && /^https?:/.test(message.attachment_url ?? '')) {
    const image = document.createElement('img')
    image.src = message.attachment_url
    image.alt = ''
    card.append(image)
  }
  if (message.ext)
    add(
      'small',
      JSON.stringify(message.ext, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    )
  if (/^https:/.test(message.url ?? '')) {
    const link = document.createElement('a')
    link.href = message.url
    link.target = '_blank'
    link.rel = 'noreferrer'
    link.textContent = message.url
    card.append(link)
  }
  add('small', `${message.type} · task ${taskId} · ${new Date().toLocaleTimeString()}`)
  if (message.collapse_key) {
    card.dataset.key = message.collapse_key
    for (const shown of find('messages').children)
      if (shown.dataset.key === message.collapse_key) shown.remove()
  }
  find('messages').prepend(card)
}

function showCurl(pushToken) {
  const body = { audience: { push_token: [pushToken] }, message: { title: 'Hello', body: 'from curl' } }
  find('curl').hidden = false
  find('curl').textContent = [
    `curl ${location.origin}/push/notify \\`,
    `  -H 'app_id: ${find('app_id').value || '…'}' -H 'access-token: <admin token>' \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n')
}
