import { NativeSelect, Stack, TagsInput, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Panel } from '../../components/panel.tsx'
import type { AudienceKind, Change, Draft } from './draft.ts'

type Props = { draft: Draft; change: Change; missing: boolean }

export function AudiencePanel({ draft, change, missing }: Props) {
  const { t } = useTranslation()
  return (
    <Panel title={t('send.audience')}>
      <Stack gap="sm">
        <NativeSelect
          label={t('send.audienceKind')}
          value={draft.audienceKind}
          onChange={({ currentTarget }) =>
            change({ audienceKind: currentTarget.value as AudienceKind, audience: [] })
          }
          data={[
            { value: 'tag', label: t('send.audienceTag') },
            { value: 'alias', label: t('send.audienceAlias') },
            { value: 'user_id', label: t('send.audienceUser') },
            { value: 'push_token', label: t('send.audienceToken') },
            { value: 'all', label: t('send.audienceAll') },
          ]}
        />
        {draft.audienceKind === 'all' ? (
          <Text size="sm" c="dimmed">
            {t('send.audienceAllHint')}
          </Text>
        ) : (
          <TagsInput
            label={t('send.audienceList')}
            description={t('send.audienceHint')}
            value={draft.audience}
            maxTags={500}
            acceptValueOnBlur
            error={missing && t('send.audienceMissing')}
            onChange={(audience) => change({ audience })}
          />
        )}
      </Stack>
    </Panel>
  )
}
