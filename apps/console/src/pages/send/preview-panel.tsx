import './preview.css'
import { cards } from '@herald/channels/cards'
import { publicName } from '@herald/domain'
import { NativeSelect, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Panel } from '../../components/panel.tsx'
import { useLabels } from '../../i18n/labels.ts'
import icon from '../../session/icon.svg'
import { useCurrentSession } from '../../session/session.ts'
import type { Draft } from './draft.ts'
import { pictureUrl, previewOf, type Screen } from './preview-of.ts'
import { usePicture } from './use-picture.ts'

const androidVendors = cards
  .filter(({ defaultPlatform }) => defaultPlatform === 'android')
  .map(({ name }) => name)
const TYPING_MS = 600

export function PreviewPanel({ draft }: { draft: Draft }) {
  const { t } = useTranslation()
  const { channel } = useLabels()
  const [android, setAndroid] = useState<Exclude<Screen, 'iphone'>>('android')
  return (
    <Panel title={t('send.preview')}>
      <div className="screens">
        <Phone draft={draft} screen="iphone" name={t('send.previewIphone')} />
        <NativeSelect
          size="xs"
          aria-label={t('send.previewVendor')}
          value={android}
          onChange={({ currentTarget }) => setAndroid(currentTarget.value as typeof android)}
          data={[
            { value: 'android', label: t('send.previewAndroid') },
            ...androidVendors.map((name) => ({ value: name, label: channel(publicName(name)) })),
          ]}
        />
        <Phone
          draft={draft}
          screen={android}
          name={android === 'android' ? t('send.previewAndroid') : channel(publicName(android))}
        />
      </div>
    </Panel>
  )
}

type Props = { draft: Draft; screen: Screen; name: string }

function Phone({ draft, screen, name }: Props) {
  const { t } = useTranslation()
  const { applicationName } = useCurrentSession()
  const preview = previewOf(draft, screen)
  const [url] = useDebouncedValue(pictureUrl(draft), TYPING_MS)
  const picture = usePicture(url)
  const app = (
    <>
      <img src={icon} alt="" width={18} height={18} />
      <span className="app">{applicationName || t('send.previewApp')}</span>
    </>
  )
  return (
    <figure className={`screen ${screen === 'iphone' ? 'iphone' : 'android'}`}>
      <figcaption>{name}</figcaption>
      {preview.kind === 'card' ? (
        <article className="card">
          <header>
            {app}
            <span>{t('send.previewNow')}</span>
          </header>
          <div className="texts">
            {preview.title && <strong>{preview.title}</strong>}
            {preview.subtitle && <em>{preview.subtitle}</em>}
            {preview.body && <p>{preview.body}</p>}
          </div>
          {preview.image &&
            (picture.state === 'loaded' && url === preview.image ? (
              <img className="picture" src={preview.image} alt={t('send.previewImage')} />
            ) : (
              <div className="picture missing">
                {t(picture.state === 'failed' ? 'send.previewNoImage' : 'send.previewImage')}
              </div>
            ))}
          {preview.cut.map((part) => (
            <footer key={part}>
              {t(part === 'title' ? 'send.previewCutTitle' : 'send.previewCutBody', { name })}
            </footer>
          ))}
          <footer>{t('send.previewBadge', { n: preview.badge })}</footer>
          {preview.url && <footer className="breaks">{t('send.previewUrl', { url: preview.url })}</footer>}
          {preview.collapseKey && <footer>{t('send.previewCollapse', { key: preview.collapseKey })}</footer>}
          {preview.urgent && <footer>{t('send.previewUrgent')}</footer>}
          {preview.hidden && <footer>{t('send.previewHidden')}</footer>}
        </article>
      ) : preview.kind === 'activity' ? (
        <article className="card">
          <header>
            {app}
            <span>{t('send.previewActivity', { event: preview.event })}</span>
          </header>
          <p className="breaks">{preview.fields}</p>
        </article>
      ) : (
        <Text size="sm" ta="center" c="inherit" p="sm">
          {t(preview.kind === 'silent' ? 'send.previewSilent' : 'send.previewBlank')}
        </Text>
      )}
    </figure>
  )
}
