import { Button, Grid, Group, Stack } from '@mantine/core'
import { IconSend } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { notify } from '../../api/calls.ts'
import { useAppId, useWho } from '../../app/session.ts'
import { Accepted } from '../../parts/accepted.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { OfApplication } from '../../parts/of-application.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Problem } from '../../parts/problem.tsx'
import { AudiencePanel } from './audience-panel.tsx'
import { ContentPanel } from './content-panel.tsx'
import { blankDraft, type Change, type Draft, problemsOf } from './draft.ts'
import { ExplainPanel } from './explain-panel.tsx'
import { PlatformPanel } from './platform-panel.tsx'
import { PreviewPanel } from './preview-panel.tsx'
import { requestText } from './request.ts'
import { RoutePanel } from './route-panel.tsx'

export const page = { Component: SendPage }

/** What was written stays when another application is chosen; what became of it does not. */
function SendPage() {
  const [draft, setDraft] = useState(blankDraft)
  const change: Change = (fields) => setDraft((before) => ({ ...before, ...fields }))
  return (
    <OfApplication>
      <Composer draft={draft} change={change} />
    </OfApplication>
  )
}

function Composer({ draft, change }: { draft: Draft; change: Change }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const { applicationName } = useWho()
  const [tried, setTried] = useState(false)
  const [asking, setAsking] = useState(false)
  const sending = useMutation({
    mutationFn: () => notify(appId, requestText(draft)),
    onSettled: () => setAsking(false),
  })
  const problems = problemsOf(draft)
  const shown = tried ? problems : problems.filter((problem) => problem === 'ext')

  function submit() {
    setTried(true)
    if (problems.length > 0) return
    if (draft.audienceKind === 'all') setAsking(true)
    else sending.mutate()
  }

  return (
    <Stack>
      <PageHead title={t('send.title')} lead={t('send.lead')}>
        <Button
          variant="default"
          onClick={() => change({ title: t('send.exampleTitle'), body: t('send.exampleBody') })}
        >
          {t('send.example')}
        </Button>
      </PageHead>
      <Grid>
        <Grid.Col span={{ base: 12, md: 7, lg: 8 }}>
          <form
            onSubmit={(event) => {
              event.preventDefault()
              submit()
            }}
          >
            <Stack>
              <ContentPanel draft={draft} change={change} badExt={shown.includes('ext')} />
              <AudiencePanel draft={draft} change={change} missing={shown.includes('audience')} />
              <RoutePanel draft={draft} change={change} />
              <PlatformPanel draft={draft} change={change} />
              {sending.isError && <Problem error={sending.error} />}
              {sending.isSuccess && <Accepted taskId={sending.data.task_id} />}
              <Group justify="flex-end">
                <Button
                  type="submit"
                  size="md"
                  loading={sending.isPending}
                  leftSection={<IconSend size={18} aria-hidden />}
                >
                  {t('send.submit')}
                </Button>
              </Group>
            </Stack>
          </form>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5, lg: 4 }}>
          <Stack className="aside">
            <PreviewPanel draft={draft} />
            <ExplainPanel text={(pushToken) => requestText(draft, pushToken)} />
          </Stack>
        </Grid.Col>
      </Grid>
      <Confirm
        opened={asking}
        title={t('send.confirmTitle')}
        text={t('send.confirmText', { name: applicationName })}
        button={t('send.confirmButton')}
        busy={sending.isPending}
        onConfirm={() => sending.mutate()}
        onClose={() => setAsking(false)}
      />
    </Stack>
  )
}
